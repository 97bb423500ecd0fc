package acts

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/parley-a2a/parley/internal/check/wire"
)

// agentCard is the pseudo operation of fetching the card, which no binding defines.
const agentCard wire.Op = "AgentCard"

// operations maps the abstract operations, and the other names in the draft's files, to those
// of v1.0.
var operations = map[string]wire.Op{
	"send_message": wire.SendMessage, "send_streaming_message": wire.StreamMessage, "get_task": wire.GetTask,
	"list_tasks": wire.ListTasks, "cancel_task": wire.CancelTask, "subscribe_to_task": wire.SubscribeTask,
	"get_agent_card": agentCard, "get_extended_agent_card": wire.ExtendedCard,
	"create_push_config": wire.CreatePush, "get_push_config": wire.GetPush,
	"list_push_configs": wire.ListPush, "delete_push_config": wire.DeletePush,
	"set_push_notification_config": wire.CreatePush, "create_push_notification_config": wire.CreatePush,
	"get_push_notification_config": wire.GetPush, "list_push_notification_configs": wire.ListPush,
	"delete_push_notification_config": wire.DeletePush,
}

// translate converts abstract parameters into those of v1.0.
func translate(op wire.Op, params map[string]any) map[string]any {
	params = maps.Clone(params)
	if op == wire.SendMessage || op == wire.StreamMessage {
		complete(params)
	}
	if op == wire.CreatePush {
		config, _ := params["pushNotificationConfig"].(map[string]any)
		delete(params, "pushNotificationConfig")
		maps.Copy(params, config)
	}
	rename(params, "cursor", "pageToken")
	rename(params, "configId", "id")
	delete(params, "extended")
	return params
}

func rename(m map[string]any, from, to string) {
	if v, ok := m[from]; ok {
		delete(m, from)
		m[to] = v
	}
}

// complete adds a message id, and moves members beside the message that belong to it into it.
func complete(params map[string]any) {
	m, ok := params["message"].(map[string]any)
	if !ok {
		return
	}
	m = maps.Clone(m)
	params["message"] = m
	if _, ok := m["messageId"]; !ok {
		m["messageId"] = "acts-" + uuid.NewString()
	}
	for _, name := range []string{"taskId", "contextId"} {
		if v, beside := params[name]; beside {
			delete(params, name)
			if _, own := m[name]; !own {
				m[name] = v
			}
		}
	}
	if parts, ok := m["parts"].([]any); ok {
		flat := make([]any, len(parts))
		for i := range parts {
			flat[i] = flatFile(parts[i])
		}
		m["parts"] = flat
	}
}

// flatFile converts the draft's file parts into those of v1.0, which have no nested object.
func flatFile(p any) any {
	part, _ := p.(map[string]any)
	file, ok := part["file"].(map[string]any)
	if !ok {
		return p
	}
	part = maps.Clone(part)
	delete(part, "file")
	for from, to := range map[string]string{"url": "url", "raw": "raw", "mediaType": "mediaType", "name": "filename"} {
		if v, ok := file[from]; ok {
			part[to] = v
		}
	}
	return part
}

func number(n int) json.Number { return json.Number(strconv.Itoa(n)) }

// raw sends a request unchanged, except that a message without an id gets one.
func (r *run) raw(ctx context.Context, s *step, limit time.Duration) (*wire.Exchange, error) {
	p := wire.Plain{Method: s.Raw.Method, Header: http.Header{}, Timeout: limit}
	path, err := r.fillText(s.Raw.Path)
	if err != nil {
		return nil, err
	}
	p.URL = r.resolve(fmt.Sprint(path))
	for name, v := range s.Raw.Headers {
		filled, err := r.fillText(v)
		if err != nil {
			return nil, err
		}
		p.Header.Set(name, fmt.Sprint(filled))
	}
	if r.withoutKey() {
		none := ""
		p.Key = &none
	}
	if p.Body, err = r.body(s.Raw); err != nil {
		return nil, err
	}
	if s.Stream == nil {
		return r.faulted(r.HTTP.Do(ctx, p)), nil
	}
	return r.faulted(r.HTTP.Open(ctx, p, r.unwrap).Rest()), nil
}

// withoutKey reports whether raw steps set their credentials themselves.
func (r *run) withoutKey() bool {
	if slices.Contains(r.test.Needs, "auth_credentials") {
		return true
	}
	return r.test.Preconditions != nil && r.test.Preconditions.Capabilities["authentication"] == true
}

// resolve returns the URL of a raw path. Well-known paths are below the base; all others are the
// interface's URL or below it.
func (r *run) resolve(path string) string {
	switch {
	case strings.HasPrefix(path, "http://"), strings.HasPrefix(path, "https://"):
		return path
	case strings.HasPrefix(path, "/.well-known/"):
		return strings.TrimRight(r.Base, "/") + path
	case path == "/" && r.Interface.Binding == wire.JSONRPC:
		return r.Interface.URL
	}
	return strings.TrimRight(r.Interface.URL, "/") + path
}

func (r *run) body(raw *rawRequest) ([]byte, error) {
	if raw.BodyRaw != nil {
		filled, err := r.fillText(*raw.BodyRaw)
		return []byte(fmt.Sprint(filled)), err
	}
	if raw.Body == nil {
		return nil, nil
	}
	filled, err := r.fill(raw.Body)
	if err != nil {
		return nil, err
	}
	if m, ok := filled.(map[string]any); ok {
		complete(m)
		if params, ok := m["params"].(map[string]any); ok {
			complete(params)
		}
	}
	return json.Marshal(filled)
}

// faulted sets the error in the answer to a raw request.
func (r *run) faulted(x *wire.Exchange) *wire.Exchange {
	x.Interface = r.Interface
	if x.Fault == nil && x.Err == nil {
		_, x.Fault = r.unwrap(x.Envelope)
	}
	if x.Fault == nil && x.Status >= http.StatusBadRequest {
		x.Fault = &wire.Fault{Binding: wire.REST, HTTP: x.Status, Raw: x.Envelope}
	}
	if x.Fault != nil && x.Fault.HTTP == 0 {
		x.Fault.HTTP = x.Status
	}
	return x
}

// unwrap splits an answer or a frame into its result and its error.
func (r *run) unwrap(v any) (any, *wire.Fault) {
	m, _ := v.(map[string]any)
	e, failed := m["error"]
	switch {
	case failed && e != nil && r.Interface.Binding == wire.REST:
		return nil, wire.RESTFault(v, 0)
	case failed && e != nil:
		return nil, wire.RPCFault(e)
	case r.Interface.Binding == wire.REST:
		return v, nil
	}
	return m["result"], nil
}
