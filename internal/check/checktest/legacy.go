package checktest

import (
	"net/http"
	"strings"

	"github.com/parley-a2a/parley/internal/check/wire"
)

// serveLegacy answers the methods of v0.3.
func (s *Server) serveLegacy(w http.ResponseWriter, r *http.Request, q rpcRequest, params Object) {
	m, _ := params["message"].(Object)
	upgrade(m)
	if q.Method.Streams() {
		fault := s.follow(r.Context(), legacyOps[q.Method], params, func() Sink {
			send := s.sse(w)
			return func(e Object) bool { return send(Object{"jsonrpc": "2.0", "id": q.ID, "result": downgraded(e)}) }
		})
		if fault != nil {
			s.reply(w, q, func() (any, *Fault) { return nil, fault })
		}
		return
	}
	s.reply(w, q, func() (any, *Fault) { return s.operateLegacy(q.Method, params) })
}

// legacyOps are the operations that stand for those of v0.3.
var legacyOps = map[wire.Op]wire.Op{
	wire.LegacySend: wire.SendMessage, wire.LegacyStream: wire.StreamMessage, wire.LegacyGet: wire.GetTask,
	wire.LegacyCancel: wire.CancelTask, wire.LegacySubscribe: wire.SubscribeTask,
	wire.LegacyCreatePush: wire.CreatePush, wire.LegacyGetPush: wire.GetPush,
	wire.LegacyListPush: wire.ListPush, wire.LegacyDeletePush: wire.DeletePush,
}

func (s *Server) operateLegacy(method wire.Op, params Object) (any, *Fault) {
	op, known := legacyOps[method]
	if !known {
		return nil, &Fault{wire.MethodNotFound, "no such method"}
	}
	if strings.HasPrefix(string(method), "tasks/push") {
		return s.legacyHook(op, params)
	}
	result, f := s.operate(op, params)
	if f != nil {
		return nil, f
	}
	o, _ := result.(Object)
	if o["status"] != nil {
		o = Object{"task": o}
	}
	return downgraded(o), nil
}

// legacyHook answers the methods of webhooks.
func (s *Server) legacyHook(op wire.Op, params Object) (any, *Fault) {
	p := Object{"taskId": params["id"], "id": params["pushNotificationConfigId"]}
	if op == wire.CreatePush {
		config, _ := params["pushNotificationConfig"].(Object)
		p = Object{"taskId": params["taskId"], "url": config["url"]}
	}
	result, f := s.operate(op, p)
	if f != nil {
		return nil, f
	}
	old := func(h Object) Object {
		return Object{"taskId": h["taskId"], "pushNotificationConfig": Object{"id": h["id"], "url": h["url"]}}
	}
	o, _ := result.(Object)
	switch op {
	case wire.DeletePush:
		return nil, nil
	case wire.ListPush:
		all := []any{}
		for _, h := range o["configs"].([]any) {
			all = append(all, old(h.(Object)))
		}
		return all, nil
	}
	return old(o), nil
}

// upgrade makes a v1.0 message of one of v0.3.
func upgrade(m Object) {
	if m == nil {
		return
	}
	m["role"] = "ROLE_" + strings.ToUpper(str(m, "role"))
	parts, _ := m["parts"].([]any)
	for _, p := range parts {
		delete(p.(Object), "kind")
	}
}

var kinds = map[string]string{"task": "task", "message": "message", "statusUpdate": "status-update", "artifactUpdate": "artifact-update"}

// downgraded makes the bare object of v0.3 out of a wrapped one.
func downgraded(o Object) Object {
	for arm, kind := range kinds {
		v, ok := o[arm].(Object)
		if !ok {
			continue
		}
		old := lower(v).(Object)
		old["kind"] = kind
		if kind == "status-update" {
			state := str(old, "status", "state")
			old["final"] = state != "working" && state != "submitted"
		}
		return old
	}
	return o
}

// lower writes states, roles and parts as v0.3 does.
func lower(v any) any {
	switch v := v.(type) {
	case Object:
		o := Object{}
		for name, field := range v {
			o[name] = lower(field)
		}
		if part := legacyPart(v); part != nil {
			return part
		}
		return o
	case []any:
		l := make([]any, len(v))
		for i := range v {
			l[i] = lower(v[i])
		}
		return l
	case []Object:
		l := make([]any, len(v))
		for i := range v {
			l[i] = lower(v[i])
		}
		return l
	case string:
		if s, ok := strings.CutPrefix(v, "TASK_STATE_"); ok {
			return strings.ReplaceAll(strings.ToLower(s), "_", "-")
		}
		if s, ok := strings.CutPrefix(v, "ROLE_"); ok {
			return strings.ToLower(s)
		}
	}
	return v
}

// legacyPart returns a part as v0.3 writes it; nil if o is no part.
func legacyPart(o Object) Object {
	switch {
	case o["text"] != nil:
		return Object{"kind": "text", "text": o["text"]}
	case o["raw"] != nil:
		return Object{"kind": "file", "file": Object{"bytes": o["raw"]}}
	case o["url"] != nil && len(o) == 1:
		return Object{"kind": "file", "file": Object{"uri": o["url"]}}
	case o["data"] != nil:
		return Object{"kind": "data", "data": o["data"]}
	}
	return nil
}
