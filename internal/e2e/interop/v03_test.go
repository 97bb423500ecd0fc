package interop

import (
	"encoding/json"
	"fmt"
	"maps"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// v03Request converts params from v1.0 to v0.3 in JSON-RPC. Bindings without an address for
// each agent find it by the skill of the same name.
func v03Request(c call, binding string) any {
	p := object(plain(c.Params))
	switch c.Op {
	case "send", "stream":
		return v03Send(p, c.Agent, binding)
	case "createPush":
		return obj{"taskId": p["taskId"], "pushNotificationConfig": v03Config(p)}
	case "getPush", "deletePush":
		return obj{"id": p["taskId"], "pushNotificationConfigId": p["id"]}
	case "listPush":
		return obj{"id": p["taskId"]}
	}
	return p
}

// plain converts v to plain JSON values.
func plain(v any) any {
	b, err := json.Marshal(v)
	var p any
	if err == nil {
		err = json.Unmarshal(b, &p)
	}
	if err != nil {
		panic(fmt.Sprintf("%v is not JSON: %v", v, err))
	}
	return p
}

func object(v any) obj {
	m, _ := v.(map[string]any)
	return m
}

func list(v any) []any {
	l, _ := v.([]any)
	return l
}

// each returns the results of f for every object of a list.
func each(v any, f func(obj) obj) []obj {
	all := []obj{}
	for _, e := range list(v) {
		all = append(all, f(object(e)))
	}
	return all
}

// moved returns the existing members of m under other names.
func moved(m obj, names ...string) obj {
	out := obj{}
	for _, n := range names {
		from, to, _ := strings.Cut(n, " ")
		if to == "" {
			to = from
		}
		if v, ok := m[from]; ok && v != nil {
			out[to] = v
		}
	}
	return out
}

func v03Send(p obj, agent, binding string) obj {
	given := object(p["message"])
	m := moved(given, "messageId", "taskId", "contextId", "referenceTaskIds", "metadata")
	m["kind"], m["role"], m["parts"] = "message", "user", each(given["parts"], v03Part)
	if binding == "GRPC" && m["taskId"] == nil {
		metadata := obj{"skill": agent}
		maps.Copy(metadata, object(m["metadata"]))
		m["metadata"] = metadata
	}
	given = object(p["configuration"])
	config := moved(given, "historyLength")
	config["blocking"] = given["returnImmediately"] != true
	if push := object(given["taskPushNotificationConfig"]); push != nil {
		config["pushNotificationConfig"] = v03Config(push)
	}
	return obj{"message": m, "configuration": config}
}

func v03Part(p obj) obj {
	switch {
	case p["data"] != nil:
		return obj{"kind": "data", "data": p["data"]}
	case p["raw"] != nil || p["url"] != nil:
		return obj{"kind": "file", "file": moved(p, "raw bytes", "url uri", "mediaType mimeType", "filename name")}
	}
	return obj{"kind": "text", "text": p["text"]}
}

func v03Config(p obj) obj {
	config := moved(p, "id", "url", "token")
	if a := object(p["authentication"]); a != nil {
		config["authentication"] = obj{"schemes": []any{a["scheme"]}, "credentials": a["credentials"]}
	}
	return config
}

// v03Result converts the result of a call to v1.0. It accepts objects without a kind, which
// some types of v0.3 do not have.
func v03Result(op string, b json.RawMessage) (json.RawMessage, error) {
	var v any
	if err := json.Unmarshal(b, &v); err != nil {
		return nil, fmt.Errorf("read %s: %w", b, err)
	}
	switch op {
	case "get", "cancel":
		return json.Marshal(v1Task(object(v)))
	case "createPush", "getPush":
		return json.Marshal(v1Config(object(v)))
	case "listPush":
		return json.Marshal(obj{"configs": each(v, v1Config)})
	case "deletePush":
		return b, nil
	}
	return json.Marshal(v1Event(object(v)))
}

func v1Event(m obj) obj {
	kind, _ := m["kind"].(string)
	switch {
	case kind == "message" || m["role"] != nil:
		return obj{"message": v1Message(m)}
	case kind == "artifact-update" || m["artifact"] != nil:
		update := moved(m, "taskId", "contextId", "append", "lastChunk", "metadata")
		update["artifact"] = v1Artifact(object(m["artifact"]))
		return obj{"artifactUpdate": update}
	case kind == "status-update" || m["taskId"] != nil:
		update := moved(m, "taskId", "contextId", "metadata")
		update["status"] = v1Status(object(m["status"]))
		return obj{"statusUpdate": update}
	}
	return obj{"task": v1Task(m)}
}

func v1Task(m obj) obj {
	t := moved(m, "id", "contextId", "metadata")
	t["status"] = v1Status(object(m["status"]))
	t["artifacts"] = each(m["artifacts"], v1Artifact)
	t["history"] = each(m["history"], v1Message)
	return t
}

func v1Status(m obj) obj {
	s := moved(m, "timestamp")
	state, _ := m["state"].(string)
	s["state"] = "TASK_STATE_" + strings.ToUpper(strings.ReplaceAll(state, "-", "_"))
	if message := object(m["message"]); message != nil {
		s["message"] = v1Message(message)
	}
	return s
}

func v1Message(m obj) obj {
	out := moved(m, "messageId", "taskId", "contextId", "metadata")
	role, _ := m["role"].(string)
	out["role"] = "ROLE_" + strings.ToUpper(role)
	out["parts"] = each(m["parts"], v1Part)
	return out
}

func v1Artifact(m obj) obj {
	a := moved(m, "artifactId", "name", "description", "metadata")
	a["parts"] = each(m["parts"], v1Part)
	return a
}

func v1Part(m obj) obj {
	if file := object(m["file"]); file != nil {
		return moved(file, "bytes raw", "uri url", "mimeType mediaType", "name filename")
	}
	return moved(m, "text", "data", "metadata")
}

func v1Config(m obj) obj {
	given := object(m["pushNotificationConfig"])
	config := moved(given, "id", "url", "token")
	config["taskId"] = m["taskId"]
	if a := object(given["authentication"]); a != nil {
		out := moved(a, "credentials")
		if schemes := list(a["schemes"]); len(schemes) > 0 {
			out["scheme"] = schemes[0]
		}
		config["authentication"] = out
	}
	return config
}

// TestV03 checks the conversion of a message to v0.3, and of the answers to v1.0.
func TestV03(t *testing.T) {
	t.Parallel()
	got := plain(v03Request(call{Op: "send", Agent: "echo", Params: obj{
		"message": obj{"messageId": "m", "role": "ROLE_USER", "metadata": obj{"a": 1}, "parts": []obj{
			{"text": "hi"}, {"raw": []byte("x"), "mediaType": "image/png", "filename": "a.png"}, {"data": obj{"n": 1}},
		}},
		"configuration": obj{"returnImmediately": true, "taskPushNotificationConfig": obj{
			"url": "http://x", "authentication": obj{"scheme": "Bearer", "credentials": "c"},
		}},
	}}, "GRPC"))
	want := `{"message": {"kind": "message", "messageId": "m", "role": "user", "metadata": {"a": 1, "skill": "echo"}, "parts": [
		{"kind": "text", "text": "hi"}, {"kind": "file", "file": {"bytes": "eA==", "mimeType": "image/png", "name": "a.png"}},
		{"kind": "data", "data": {"n": 1}}]},
		"configuration": {"blocking": false, "pushNotificationConfig": {"url": "http://x",
			"authentication": {"schemes": ["Bearer"], "credentials": "c"}}}}`
	if diff := cmp.Diff(plain(json.RawMessage(want)), got); diff != "" {
		t.Errorf("request mismatch (-want +got):\n%s", diff)
	}
	b, err := v03Result("send", json.RawMessage(`{"kind": "task", "id": "t", "contextId": "c",
		"status": {"state": "input-required", "message": {"kind": "message", "messageId": "n", "role": "agent",
			"parts": [{"kind": "text", "text": "which?"}]}},
		"artifacts": [{"artifactId": "a", "parts": [{"kind": "file", "file": {"bytes": "eA==", "name": "a.png"}}]}]}`))
	if err != nil {
		t.Fatal(err)
	}
	want = `{"task": {"id": "t", "contextId": "c", "history": [],
		"status": {"state": "TASK_STATE_INPUT_REQUIRED", "message": {"messageId": "n", "role": "ROLE_AGENT", "parts": [{"text": "which?"}]}},
		"artifacts": [{"artifactId": "a", "parts": [{"raw": "eA==", "filename": "a.png"}]}]}}`
	if diff := cmp.Diff(plain(json.RawMessage(want)), plain(b)); diff != "" {
		t.Errorf("result mismatch (-want +got):\n%s", diff)
	}
}
