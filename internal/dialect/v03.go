package dialect

import (
	"strings"

	"github.com/parley-a2a/parley/internal/json/rawjson"
)

// v0.3 over JSON-RPC has the objects of v1.0 with these differences: most have a kind, states
// are in kebab case, roles are user and agent, a file is an object of its own, and results have
// no wrapper. Members without a v0.3 name keep the name of v1.0: readers of v0.3 ignore unknown
// members.

// v03Result appends the result of a call, converted from v1.0. Servers of v0.3 with a list
// operation return whole tasks.
func v03Result(dst []byte, o Operation, v1 []byte) []byte {
	switch o {
	case SendMessage, SendStreamingMessage, SubscribeToTask:
		return v03Frame(dst, v1)
	case GetTask, CancelTask:
		return v03Task(dst, v1)
	case ListTasks:
		return rawjson.RewriteObject(dst, v1, rawjson.Members{"tasks": rawjson.ListOf(v03Task)}.Value)
	case CreatePushConfig, GetPushConfig:
		return v03PushConfig(dst, v1)
	case ListPushConfigs:
		return rawjson.RewriteList(dst, member(v1, "configs"), v03PushConfig)
	case DeletePushConfig:
		return append(dst, "null"...)
	}
	return append(dst, v1...)
}

// v03Frames returns the single event for a v1.0 frame.
func v03Frames(v1 []byte) [][]byte {
	dst := v03Frame(make([]byte, 0, len(v1)+64), v1)
	_, inner := rawjson.First(v1)
	first := true
	for name, v := range rawjson.Fields(v1) { // members beside the event, which v0.3 cannot carry
		if !first && member(inner, name) == nil && name != "kind" && name != "final" {
			dst = append(rawjson.AppendName(dst[:len(dst)-1], name), v...)
			dst = append(dst, '}')
		}
		first = false
	}
	return [][]byte{dst}
}

// v03Frame appends the content of a SendMessageResponse or a StreamResponse.
func v03Frame(dst, v1 []byte) []byte {
	switch name, v := rawjson.First(v1); name {
	case "task":
		return v03Task(dst, v)
	case "message":
		return v03Message(dst, v)
	case "statusUpdate":
		return v03StatusUpdate(dst, v)
	case "artifactUpdate":
		return v03ArtifactUpdate(dst, v)
	default:
		if rawjson.KindOf(v) != rawjson.Object {
			return append(dst, v1...)
		}
		return v03Object(dst, kebab(name), v, keepValue)
	}
}

// keepValue is the rewriter that changes nothing.
func keepValue(dst []byte, _ string, v []byte) []byte { return append(dst, v...) }

// v03Object appends obj with a kind in front and the values of its members rewritten. It drops
// an existing member called kind, which v1.0 does not define.
func v03Object(dst []byte, kind string, obj []byte, value rawjson.Rewriter) []byte {
	dst = append(append(append(dst, `{"kind":"`...), kind...), '"')
	for name, v := range rawjson.Fields(obj) {
		if name != "kind" {
			dst = value(rawjson.AppendName(dst, name), name, v)
		}
	}
	return append(dst, '}')
}

// kinded returns a function that appends an object with a kind.
func kinded(kind string, m rawjson.Members) func(dst, obj []byte) []byte {
	return func(dst, obj []byte) []byte { return v03Object(dst, kind, obj, m.Value) }
}

// These functions append objects of v1.0. Artifacts have no kind.
var (
	v03Artifact       = rawjson.Members{"parts": rawjson.ListOf(v03Part)}.Append
	v03Message        = kinded("message", rawjson.Members{"role": appendPlainRole, "parts": rawjson.ListOf(v03Part)})
	v03Status         = rawjson.Members{"state": stateName(v03State), "message": v03Message}.Append
	v03StatusUpdate   = kinded("status-update", rawjson.Members{"status": func(dst, v []byte) []byte { return appendFinal(v03Status(dst, v), v) }})
	v03ArtifactUpdate = kinded("artifact-update", rawjson.Members{"artifact": v03Artifact})
	v03TaskMembers    = rawjson.Members{"status": v03Status, "artifacts": rawjson.ListOf(v03Artifact), "history": rawjson.ListOf(v03Message)}
)

// v03Task appends a task. Its contextId is required.
func v03Task(dst, t []byte) []byte {
	dst = v03Object(dst, "task", t, v03TaskMembers.Value)
	if member(t, "contextId") == nil {
		dst = append(dst[:len(dst)-1], `,"contextId":""}`...)
	}
	return dst
}

// v03State returns the name of a v1.0 state, such as "input-required".
func v03State(v []byte) string {
	s, _ := rawjson.String(v)
	s = strings.TrimPrefix(s, "TASK_STATE_")
	if s == "UNSPECIFIED" {
		return "unknown"
	}
	return strings.ToLower(strings.ReplaceAll(s, "_", "-"))
}

// v03Final reports whether a status closes a v0.3 stream: the task has ended, or it requires
// input or credentials.
func v03Final(status []byte) bool {
	switch v03State(member(status, "state")) {
	case "completed", "failed", "canceled", "rejected", "input-required":
		return true
	}
	return false
}

// appendFinal appends the member final after a status.
func appendFinal(dst, status []byte) []byte {
	if v03Final(status) {
		return append(dst, `,"final":true`...)
	}
	return append(dst, `,"final":false`...)
}

// v03PushConfig appends a TaskPushNotificationConfig.
func v03PushConfig(dst, c []byte) []byte {
	dst = append(append(append(dst, `{"taskId":`...), member(c, "taskId")...), `,"pushNotificationConfig":`...)
	return append(legacyPushConfig(dst, c), '}')
}

// legacyPushConfig appends a PushNotificationConfig, which has a list of schemes.
func legacyPushConfig(dst, c []byte) []byte {
	dst = append(dst, '{')
	for name, v := range rawjson.Fields(c) {
		switch name {
		case "taskId":
		case "authentication":
			dst = append(rawjson.AppendName(dst, name), `{"schemes":[`...)
			dst = append(append(dst, member(v, "scheme")...), `]}`...)
		default:
			dst = append(rawjson.AppendName(dst, name), v...)
		}
	}
	return append(dst, '}')
}
