package mock

import (
	"fmt"
	"strings"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/internal/apierror"
	"github.com/parley-a2a/parley/internal/dialect"
)

// shape is how a request is written, and its answer.
type shape uint8

const (
	v1 shape = iota
	v03
	promptKit
)

var shapeNames = [...]string{v1: "v1.0", v03: "v0.3", promptKit: "promptkit"}

func (s shape) String() string { return shapeNames[s] }

// wrong returns the shape that a caller of this one cannot want.
func (s shape) wrong() shape {
	if s == v1 {
		return v03
	}
	return v1
}

// legacyMethods are the method names with a slash.
var legacyMethods = map[string]dialect.Operation{
	"message/send":       dialect.SendMessage,
	"message/stream":     dialect.SendStreamingMessage,
	"message/sendStream": dialect.SendStreamingMessage,
	"tasks/get":          dialect.GetTask,
	"tasks/cancel":       dialect.CancelTask,
	"tasks/list":         dialect.ListTasks,
	"tasks/subscribe":    dialect.SubscribeToTask,
	"tasks/resubscribe":  dialect.SubscribeToTask,

	"tasks/pushNotificationConfig/set":    dialect.CreatePushConfig,
	"tasks/pushNotificationConfig/get":    dialect.GetPushConfig,
	"tasks/pushNotificationConfig/list":   dialect.ListPushConfigs,
	"tasks/pushNotificationConfig/delete": dialect.DeletePushConfig,
	"agent/getAuthenticatedExtendedCard":  dialect.GetExtendedAgentCard,
}

// shapeOf tells v0.3 and PromptKit apart: by the version that is named, by methods
// that only one of them has, by kinds, by the task that is named.
func (s *Server) shapeOf(a *agent, version, method string, params object) shape {
	switch {
	case !a.serves("promptkit"):
		return v03
	case !a.serves("v0.3"), method == "tasks/list", method == "tasks/subscribe":
		return promptKit
	case method == "tasks/resubscribe", strings.HasPrefix(version, "0.3"):
		return v03
	}
	m, ok := params["message"].(object)
	if !ok {
		return s.remembered(a, params)
	}
	if m["kind"] != nil {
		return v03
	}
	for _, p := range listOf(m["parts"]) {
		if part, _ := p.(object); part["kind"] != nil {
			return v03
		}
	}
	return promptKit
}

// remembered is the shape in which the task that params name began.
func (s *Server) remembered(a *agent, params object) shape {
	id, _ := params["id"].(string)
	if t, err := s.world.find(a, a2a.TaskID(id)); err == nil && t.shape == promptKit {
		return promptKit
	}
	return v03
}

func listOf(v any) []any {
	l, _ := v.([]any)
	return l
}

// modern makes v1.0 params of older ones. It changes params.
func modern(params object) (object, error) {
	m, ok := params["message"].(object)
	if !ok {
		return params, nil
	}
	delete(m, "kind")
	if role, ok := m["role"].(string); ok {
		m["role"] = map[string]string{"user": "ROLE_USER", "agent": "ROLE_AGENT"}[role]
		if m["role"] == "" {
			return nil, apierror.Field(a2a.ErrInvalidParams, "message.role", "%q is neither user nor agent", clip(role))
		}
	}
	for i, p := range listOf(m["parts"]) {
		part, ok := p.(object)
		if !ok {
			continue // the decoder says what is wrong
		}
		if err := modernPart(part); err != nil {
			return nil, apierror.Field(a2a.ErrInvalidParams, "message.parts["+itoa(i)+"]", "%s", err.Error())
		}
	}
	if c, ok := params["configuration"].(object); ok {
		if c["blocking"] == false {
			c["returnImmediately"] = true
		}
		delete(c, "blocking")
	}
	return params, nil
}

// modernPart makes a v1.0 part of an older one, in place.
func modernPart(p object) error {
	kind, _ := p["kind"].(string)
	if kind != "" && p[kind] == nil {
		return fmt.Errorf("has the kind %q and no such member", clip(kind))
	}
	delete(p, "kind")
	file, ok := p["file"].(object)
	if !ok {
		return nil
	}
	delete(p, "file")
	for from, to := range map[string]string{"bytes": "raw", "uri": "url", "name": "filename", "mimeType": "mediaType"} {
		if v, there := file[from]; there {
			p[to] = v
		}
	}
	return nil
}

// write returns a v1.0 result, or a frame of a stream, as the shape has it.
func (s shape) write(o object) any {
	if s == v1 {
		return o
	}
	for arm, kind := range map[string]string{
		"task": "task", "message": "message", "statusUpdate": "status-update", "artifactUpdate": "artifact-update",
	} {
		if inner, ok := o[arm].(object); ok {
			return s.arm(kind, inner)
		}
	}
	switch {
	case o["status"] != nil:
		return s.arm("task", o)
	case o["tasks"] != nil:
		tasks := listOf(o["tasks"])
		out := make([]any, len(tasks))
		for i, t := range tasks {
			out[i] = s.arm("task", t.(object))
		}
		return with(o, "tasks", out)
	}
	return o
}

// arm writes one of the four things that an answer can be.
func (s shape) arm(kind string, o object) object {
	var out object
	switch kind {
	case "message":
		if s == promptKit {
			return s.messageTask(o)
		}
		out = s.message(o)
	case "artifact-update":
		out = with(o, "artifact", s.artifact(o["artifact"].(object)))
	default:
		out = with(o, "status", s.status(o["status"].(object)))
		if h := listOf(o["history"]); h != nil {
			out["history"] = each(h, s.message)
		}
		if a := listOf(o["artifacts"]); a != nil {
			out["artifacts"] = each(a, s.artifact)
		}
	}
	if s == v03 {
		out["kind"] = kind
		if kind == "status-update" {
			st, _ := o["status"].(object)["state"].(string)
			out["final"] = state(st).terminal() || state(st) == needsInput
		}
	}
	return out
}

// messageTask is a bare message for readers that only know tasks.
func (s shape) messageTask(m object) object {
	return object{
		"id": m["messageId"], "contextId": m["contextId"], "status": object{"state": "completed"},
		"artifacts": []any{s.artifact(object{"artifactId": "artifact-1", "parts": m["parts"]})},
	}
}

func each(in []any, f func(object) object) []any {
	out := make([]any, len(in))
	for i, v := range in {
		out[i] = f(v.(object))
	}
	return out
}

func (s shape) status(o object) object {
	st, _ := o["state"].(string)
	name := strings.ToLower(strings.TrimPrefix(st, "TASK_STATE_"))
	if s == v03 {
		name = strings.ReplaceAll(name, "_", "-")
	}
	out := with(o, "state", name)
	if m, ok := o["message"].(object); ok {
		out["message"] = s.message(m)
	}
	return out
}

func (s shape) message(o object) object {
	role, _ := o["role"].(string)
	out := with(o, "role", strings.ToLower(strings.TrimPrefix(role, "ROLE_")))
	out["parts"] = each(listOf(o["parts"]), s.part)
	if s == v03 {
		out["kind"] = "message"
	}
	return out
}

func (s shape) artifact(o object) object {
	return with(o, "parts", each(listOf(o["parts"]), s.part))
}

// part writes a part. Data that is no object is put into one, with a mark.
func (s shape) part(o object) object {
	out := object{}
	if m := o["metadata"]; m != nil {
		out["metadata"] = m
	}
	if v, ok := o["data"]; ok {
		if _, isObject := v.(object); !isObject {
			meta, _ := o["metadata"].(object)
			if meta == nil {
				meta = object{}
			}
			out["metadata"] = with(meta, "data_part_compat", true)
			v = object{"value": v}
		}
		out["data"] = v
	}
	if s == promptKit {
		for _, name := range []string{"text", "raw", "url", "filename", "mediaType"} {
			if v, ok := o[name]; ok {
				out[name] = v
			}
		}
		return out
	}
	switch {
	case out["data"] != nil:
		out["kind"] = "data"
	case o["raw"] != nil || o["url"] != nil:
		out["kind"], out["file"] = "file", oldFile(o)
	default:
		out["kind"], out["text"] = "text", o["text"]
	}
	return out
}

func oldFile(o object) object {
	file := object{}
	for from, to := range map[string]string{"raw": "bytes", "url": "uri", "filename": "name", "mediaType": "mimeType"} {
		if v, ok := o[from]; ok {
			file[to] = v
		}
	}
	return file
}

// legacyCode is the code of an error for readers of a shape.
func (s shape) legacyCode(code int) int {
	switch {
	case s == promptKit && code == -32002:
		return -32001
	case s != v1 && code <= -32008 && code >= -32099:
		return -32600
	}
	return code
}
