package wire

import (
	"encoding/base64"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"google.golang.org/grpc/codes"
)

// The operations of v0.3, by their names in JSON-RPC. HTTP+JSON and gRPC of v0.3 are called
// with the same Params, and their Results and Values have the same form: names in the shape of
// the proto are converted to those of JSON-RPC. Values without a counterpart, such as an
// unknown state, are unchanged. Body, Data and Envelope are not converted.
const (
	LegacySend       Op = "message/send"
	LegacyStream     Op = "message/stream"
	LegacyGet        Op = "tasks/get"
	LegacyCancel     Op = "tasks/cancel"
	LegacySubscribe  Op = "tasks/resubscribe"
	LegacyCreatePush Op = "tasks/pushNotificationConfig/set"
	LegacyGetPush    Op = "tasks/pushNotificationConfig/get"
	LegacyListPush   Op = "tasks/pushNotificationConfig/list"
	LegacyDeletePush Op = "tasks/pushNotificationConfig/delete"
)

// legacyVersion is the Version of an Interface of v0.3.
const legacyVersion = "0.3"

// inProto reports whether the interface uses the proto of v0.3.
func (i *Interface) inProto() bool { return i.Version == legacyVersion && i.Binding != JSONRPC }

// legacyStatuses are the additional statuses of errors in v0.3. v0.3 has no table of its own,
// so these are the statuses of the official SDKs.
var legacyStatuses = map[Kind]shape{
	TaskNotCancelable: {http: []int{409}, grpc: []codes.Code{codes.Unimplemented}},
	PushNotSupported:  {http: []int{501}},
	Unsupported:       {http: []int{501}},
}

// is reports whether v0.3 allows the status of f for the kind.
func (s *shape) is(f *Fault) bool {
	if f.Binding == GRPC {
		return slices.Contains(s.grpc, f.Status)
	}
	return slices.Contains(s.http, f.HTTP)
}

type object = map[string]any

// protoParams returns the request message of a v0.3 operation. parts is the name of a message's
// list of parts, which differs between the published proto and its generated Go code.
func protoParams(o Op, params object, parts string) object {
	name := func(member string) string { s, _ := params[member].(string); return "tasks/" + s }
	switch o {
	case LegacySend, LegacyStream:
		out := maps.Clone(params)
		if m, ok := params["message"].(object); ok {
			out["message"] = protoMessage(m, parts)
		}
		return out
	case LegacyCreatePush:
		config, _ := params["pushNotificationConfig"].(object)
		if config = maps.Clone(config); config["id"] == nil { // the proto requires a name
			config["id"] = "check"
		}
		return object{"parent": name("taskId"), "configId": config["id"], "config": object{"pushNotificationConfig": config}}
	case LegacyListPush:
		return object{"parent": name("id")}
	case LegacyGetPush, LegacyDeletePush:
		return object{"name": name("id") + fmt.Sprint("/pushNotificationConfigs/", params["pushNotificationConfigId"])}
	}
	out := object{"name": name("id")}
	if n, ok := params["historyLength"]; ok {
		out["historyLength"] = n
	}
	return out
}

// protoMessage returns a message of text in the proto's shape.
func protoMessage(m object, parts string) object {
	out := maps.Clone(m)
	delete(out, "kind")
	delete(out, "parts")
	if role, ok := m["role"].(string); ok {
		out["role"] = "ROLE_" + strings.ToUpper(role)
	}
	list, _ := m["parts"].([]any)
	content := make([]any, len(list))
	for i := range list {
		part, _ := list[i].(object)
		content[i] = object{"text": part["text"]}
	}
	out[parts] = content
	return out
}

// legacyREST writes an operation of v0.3 as HTTP+JSON.
func (c *httpCaller) legacyREST(p Plain, r Request) (Plain, error) {
	id := func(member string) string { return url.PathEscape(fmt.Sprint(r.Params[member])) }
	hooks := func(member string) string { return "/v1/tasks/" + id(member) + "/pushNotificationConfigs" }
	rest, body := object{}, false
	var path string
	switch r.Op {
	case LegacySend, LegacyStream:
		path, body = "/v1/message:"+map[Op]string{LegacySend: "send", LegacyStream: "stream"}[r.Op], true
		rest = protoParams(r.Op, r.Params, "content")
	case LegacyGet:
		p.Method, path = http.MethodGet, "/v1/tasks/"+id("id")
		if n, ok := r.Params["historyLength"]; ok {
			rest["historyLength"] = n
		}
	case LegacyCancel, LegacySubscribe:
		path, body = "/v1/tasks/"+id("id")+map[Op]string{LegacyCancel: ":cancel", LegacySubscribe: ":subscribe"}[r.Op], true
	case LegacyCreatePush:
		path, body = hooks("taskId"), true
		rest = protoParams(r.Op, r.Params, "content")
	case LegacyListPush:
		p.Method, path = http.MethodGet, hooks("id")
	case LegacyGetPush, LegacyDeletePush:
		p.Method = map[Op]string{LegacyGetPush: http.MethodGet, LegacyDeletePush: http.MethodDelete}[r.Op]
		path = hooks("id") + "/" + id("pushNotificationConfigId")
	default:
		return p, fmt.Errorf("%w: %s over HTTP+JSON of v0.3", ErrInexpressible, r.Op)
	}
	return c.restAt(p, path, rest, body)
}

// renamed converts the names in an answer of v0.3 to those of JSON-RPC.
func (x *Exchange) renamed() *Exchange {
	if x.Interface.inProto() {
		if x.Fault != nil {
			x.Fault.Legacy = true
		}
		x.Result = fromProto(x.Result)
	}
	return x
}

// arms maps the wrappers of the proto to the kinds of JSON-RPC.
var arms = map[string]string{"task": "task", "message": "message", "msg": "message", "statusUpdate": "status-update", "artifactUpdate": "artifact-update"}

// fromProto converts a result or an event of the proto into that of JSON-RPC.
func fromProto(v any) any {
	m, ok := v.(object)
	if !ok || m["kind"] != nil {
		return v // some servers write the shape of JSON-RPC, as the prose of v0.3 specifies
	}
	for arm, kind := range arms {
		if inner, ok := m[arm].(object); ok && len(m) == 1 {
			return withKind(kind, inner)
		}
	}
	switch {
	case m["configs"] != nil:
		list, _ := m["configs"].([]any)
		out := make([]any, len(list))
		for i := range list {
			out[i] = fromProto(list[i])
		}
		return out
	case m["pushNotificationConfig"] != nil:
		return fromProtoHook(m)
	case m["status"] != nil:
		return withKind("task", m)
	}
	return v
}

func withKind(kind string, m object) object {
	out, _ := plainNames(m).(object)
	out["kind"] = kind
	return out
}

// fromProtoHook converts a webhook, whose name contains its ids.
func fromProtoHook(m object) object {
	name, _ := m["name"].(string)
	task, id, _ := strings.Cut(strings.TrimPrefix(name, "tasks/"), "/pushNotificationConfigs/")
	config, ok := m["pushNotificationConfig"].(object)
	if !ok {
		return m
	}
	config = maps.Clone(config)
	if config["id"] == nil && id != "" {
		config["id"] = id
	}
	return object{"taskId": task, "pushNotificationConfig": config}
}

// plainNames converts states, roles and parts in v to those of JSON-RPC.
func plainNames(v any) any {
	switch v := v.(type) {
	case object:
		out := make(object, len(v))
		for name, field := range v {
			switch name {
			case "metadata":
				out[name] = field
			case "content", "parts":
				out["parts"] = plainParts(field)
			case "state", "role":
				out[name] = plainWord(field)
			default:
				out[name] = plainNames(field)
			}
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = plainNames(v[i])
		}
		return out
	}
	return v
}

// words maps the states and roles of the proto.
var words = map[string]string{
	"TASK_STATE_SUBMITTED": "submitted", "TASK_STATE_WORKING": "working", "TASK_STATE_COMPLETED": "completed",
	"TASK_STATE_FAILED": "failed", "TASK_STATE_CANCELLED": "canceled", "TASK_STATE_INPUT_REQUIRED": "input-required",
	"TASK_STATE_REJECTED": "rejected", "TASK_STATE_AUTH_REQUIRED": "auth-required",
	"ROLE_USER": "user", "ROLE_AGENT": "agent",
}

func plainWord(v any) any {
	s, _ := v.(string)
	if w, ok := words[s]; ok {
		return w
	}
	return v
}

func plainParts(v any) any {
	list, ok := v.([]any)
	if !ok {
		return v
	}
	out := make([]any, len(list))
	for i := range list {
		out[i] = plainPart(list[i])
	}
	return out
}

// plainPart adds the kind of a part. A part that does not have exactly one content is
// unchanged.
func plainPart(v any) any {
	part, _ := v.(object)
	out, n := maps.Clone(part), 0
	for _, kind := range [...]string{"text", "file", "data"} {
		if part[kind] != nil {
			out["kind"] = kind
			n++
		}
	}
	if n != 1 || part["kind"] != nil {
		return v
	}
	switch inner, _ := part[out["kind"].(string)].(object); out["kind"] {
	case "file":
		out["file"] = plainFile(inner)
	case "data":
		out["data"] = inner["data"]
	}
	return out
}

// plainFile converts a file. Its bytes are base64, as in JSON-RPC.
func plainFile(file object) object {
	out := object{}
	for name, v := range file {
		switch name {
		case "fileWithUri":
			out["uri"] = v
		case "fileWithBytes":
			s, _ := v.(string)
			if once, err := base64.StdEncoding.DecodeString(s); err == nil {
				v = string(once)
			}
			out["bytes"] = v
		default:
			out[name] = v
		}
	}
	return out
}
