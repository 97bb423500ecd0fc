package dialect

import (
	"strings"

	"github.com/parley-a2a/parley/internal/json/rawjson"
)

// v0.3 over JSON-RPC has the objects of v1.0 with a kind in most of them, states in
// kebab case, the roles user and agent, files in an object of their own, and results
// without a wrapper. What it has no name for keeps that of v1.0: its readers ignore
// what they do not know.

// v03Result appends the result of a call from that of v1.0. Servers of v0.3 that list
// tasks put whole ones into the list.
func v03Result(dst []byte, o Operation, v1 []byte) []byte {
	switch o {
	case SendMessage, SendStreamingMessage, SubscribeToTask:
		return v03Frame(dst, v1)
	case GetTask, CancelTask:
		return v03Task(dst, v1)
	case ListTasks:
		return rewritePage(dst, v1, v03Task)
	case CreatePushConfig, GetPushConfig:
		return v03PushConfig(dst, v1)
	case ListPushConfigs:
		return rewriteList(dst, member(v1, "configs"), v03PushConfig)
	case DeletePushConfig:
		return append(dst, "null"...)
	}
	return append(dst, v1...)
}

// v03Frames returns the one event that shows a v1.0 frame.
func v03Frames(v1 []byte) [][]byte {
	dst := v03Frame(make([]byte, 0, len(v1)+64), v1)
	_, inner := arm(v1)
	first := true
	for name, v := range rawjson.Fields(v1) { // beside the event, where v0.3 has no place
		if !first && member(inner, name) == nil && name != "kind" && name != "final" {
			dst = append(appendName(dst[:len(dst)-1], name), v...)
			dst = append(dst, '}')
		}
		first = false
	}
	return [][]byte{dst}
}

// v03Frame appends what a SendMessageResponse or a StreamResponse holds.
func v03Frame(dst, v1 []byte) []byte {
	switch name, v := arm(v1); name {
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

// v03Object appends obj with a kind in front and the values of its members rewritten.
// A member of obj that is called kind gives way: v1.0 has none.
func v03Object(dst []byte, kind string, obj []byte, value rewriter) []byte {
	dst = append(append(append(dst, `{"kind":"`...), kind...), '"')
	for name, v := range rawjson.Fields(obj) {
		if name != "kind" {
			dst = value(appendName(dst, name), name, v)
		}
	}
	return append(dst, '}')
}

// appendName begins a member of an object that dst ends in.
func appendName(dst []byte, name string) []byte {
	if dst[len(dst)-1] != '{' {
		dst = append(dst, ',')
	}
	return append(rawjson.AppendString(dst, name), ':')
}

// v03Task appends a task. Its contextId is required.
func v03Task(dst, t []byte) []byte {
	dst = v03Object(dst, "task", t, func(dst []byte, name string, v []byte) []byte {
		switch name {
		case "status":
			return v03Status(dst, v)
		case "artifacts":
			return rewriteList(dst, v, v03Artifact)
		case "history":
			return rewriteList(dst, v, v03Message)
		}
		return append(dst, v...)
	})
	if member(t, "contextId") == nil {
		dst = append(dst[:len(dst)-1], `,"contextId":""}`...)
	}
	return dst
}

func v03Status(dst, status []byte) []byte {
	return rewriteObject(dst, status, func(dst []byte, name string, v []byte) []byte {
		switch name {
		case "state":
			return rawjson.AppendString(dst, v03State(v))
		case "message":
			return v03Message(dst, v)
		}
		return append(dst, v...)
	})
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

// v03Final reports whether a reader of v0.3 is told that nothing follows a status:
// the task has ended, or its caller is asked.
func v03Final(status []byte) bool {
	switch v03State(member(status, "state")) {
	case "completed", "failed", "canceled", "rejected", "input-required":
		return true
	}
	return false
}

func v03Message(dst, msg []byte) []byte {
	return v03Object(dst, "message", msg, func(dst []byte, name string, v []byte) []byte {
		switch name {
		case "role":
			return appendPlainRole(dst, v)
		case "parts":
			return rewriteList(dst, v, v03Part)
		}
		return append(dst, v...)
	})
}

// v03Artifact appends an artifact, which has no kind.
func v03Artifact(dst, artifact []byte) []byte {
	return rewriteObject(dst, artifact, func(dst []byte, name string, v []byte) []byte {
		if name == "parts" {
			return rewriteList(dst, v, v03Part)
		}
		return append(dst, v...)
	})
}

func v03StatusUpdate(dst, update []byte) []byte {
	return v03Object(dst, "status-update", update, func(dst []byte, name string, v []byte) []byte {
		if name == "status" {
			return appendFinal(v03Status(dst, v), v)
		}
		return append(dst, v...)
	})
}

// appendFinal says behind a status whether anything follows.
func appendFinal(dst, status []byte) []byte {
	if v03Final(status) {
		return append(dst, `,"final":true`...)
	}
	return append(dst, `,"final":false`...)
}

func v03ArtifactUpdate(dst, update []byte) []byte {
	return v03Object(dst, "artifact-update", update, func(dst []byte, name string, v []byte) []byte {
		if name == "artifact" {
			return v03Artifact(dst, v)
		}
		return append(dst, v...)
	})
}

// v03PushConfig appends a TaskPushNotificationConfig.
func v03PushConfig(dst, c []byte) []byte {
	dst = append(append(append(dst, `{"taskId":`...), member(c, "taskId")...), `,"pushNotificationConfig":`...)
	return append(legacyPushConfig(dst, c), '}')
}

// legacyPushConfig appends a PushNotificationConfig, whose schemes are a list.
func legacyPushConfig(dst, c []byte) []byte {
	dst = append(dst, '{')
	for name, v := range rawjson.Fields(c) {
		switch name {
		case "taskId":
		case "authentication":
			dst = append(appendName(dst, name), `{"schemes":[`...)
			dst = append(append(dst, member(v, "scheme")...), `]}`...)
		default:
			dst = append(appendName(dst, name), v...)
		}
	}
	return append(dst, '}')
}
