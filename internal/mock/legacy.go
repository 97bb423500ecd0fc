package mock

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/internal/apierror"
	"github.com/parley-a2a/parley/internal/dialect"
)

// recognize returns the operation of a method with a slash and the dialect of the call:
// v0.3 or one derived from it.
func (c *call) recognize(q dialect.Call, version string) (dialect.Operation, dialect.Shape, error) {
	o, shape, err := dialect.Recognize(&dialect.Signs{Method: q.Method, Params: q.Params, Recall: c.recall})
	derived := c.agent.derived()
	switch {
	case o == 0:
		return 0, dialect.V03, err
	case derived == dialect.V1:
		return o, dialect.V03, nil
	case !c.agent.serves("v0.3"):
		return o, derived, nil
	case shape == dialect.V03, strings.HasPrefix(version, "0.3") && o != dialect.ListTasks && o != dialect.SubscribeToTask:
		return o, dialect.V03, nil
	}
	return o, derived, nil
}

// derived reports whether the call is in a dialect that a part adds.
func (c *call) derived() bool { return c.shape > dialect.V03Proto }

// recall returns the dialect of the first message of a task.
func (c *call) recall(id a2a.TaskID) (dialect.Shape, bool) {
	t, err := c.server.state.find(c.agent, id)
	if err != nil {
		return dialect.V1, false
	}
	return t.shape, true
}

func listOf(v any) []any {
	l, _ := v.([]any)
	return l
}

// modern converts older params into those of v1.0. It changes params.
func modern(params object) (object, error) {
	m, ok := params["message"].(object)
	if !ok {
		return params, nil
	}
	delete(m, "kind")
	if role, ok := m["role"].(string); ok {
		m["role"] = map[string]string{"user": "ROLE_USER", "agent": "ROLE_AGENT"}[role]
		if m["role"] == "" {
			return nil, apierror.Field(a2a.ErrInvalidParams, "message.role", "%q must be user or agent", clip(role))
		}
	}
	for i, p := range listOf(m["parts"]) {
		part, ok := p.(object)
		if !ok {
			continue // the decoder reports the error
		}
		if err := modernPart(part); err != nil {
			return nil, apierror.Field(a2a.ErrInvalidParams, "message.parts["+strconv.Itoa(i)+"]", "%s", err.Error())
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

// modernPart converts an older part into one of v1.0, in place.
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

// write returns a v1.0 result, or a frame of a stream, in the dialect s.
func write(s dialect.Shape, o object) []byte {
	if s == dialect.V1 {
		return marshal(o)
	}
	operation := dialect.SendStreamingMessage
	switch {
	case o["status"] != nil:
		operation = dialect.GetTask
	case o["tasks"] != nil:
		operation = dialect.ListTasks
	case dialect.Of(s).Serving.Tasks && o["message"] != nil:
		o, operation = messageTask(o["message"].(object)), dialect.GetTask
	}
	return sorted(s.AppendResult(nil, operation, marshal(o)))
}

// sorted returns the output of a dialect with the members in alphabetical order, as in v1.0.
func sorted(body []byte) []byte {
	v, err := decodeJSON(body)
	if err != nil {
		panic("mock: " + err.Error()) // a result is JSON in every dialect
	}
	return marshal(v)
}

// messageTask wraps a bare message in a task, for dialects without messages.
func messageTask(m object) object {
	return object{
		"id": m["messageId"], "contextId": m["contextId"], "status": object{"state": string(completed)},
		"artifacts": []any{object{"artifactId": "artifact-1", "parts": m["parts"]}},
	}
}

// wrongFor returns a dialect that a caller of s cannot read.
func wrongFor(s dialect.Shape) dialect.Shape {
	if s == dialect.V1 {
		return dialect.V03
	}
	return dialect.V1
}

// legacyCode returns the code of an error for callers of v0.3 or a dialect derived from it.
func legacyCode(s dialect.Shape, code int) int {
	if code <= -32008 && code >= -32099 {
		return -32600
	}
	r := dialect.Report{Row: dialect.Row{Code: code}}
	s.Adapt(&r)
	return r.Code
}
