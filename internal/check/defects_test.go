package check

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/google/go-cmp/cmp"

	"github.com/parley-a2a/parley/internal/apierror"
	"github.com/parley-a2a/parley/internal/check/wire"
)

// bytesOf replaces bytes in all answers over HTTP.
func bytesOf(old, new string) defect {
	return defect{body: func(b []byte) []byte { return bytes.ReplaceAll(b, []byte(old), []byte(new)) }}
}

// card changes the card.
func card(f func(object)) defect {
	return results(cardOp, func(_, c object) { f(c) })
}

// noHooks empties the lists of webhooks, which are arrays over JSON-RPC of v0.3.
func noHooks() defect {
	return defect{result: func(op wire.Op, _ object, result any, err error) (any, error) {
		if _, array := result.([]any); array {
			return []any{}, err
		}
		if op == wire.ListPush && err == nil {
			return object{"configs": []any{}}, nil
		}
		return result, err
	}}
}

// results changes the result of an operation, unless it is an error.
func results(op wire.Op, f func(params, result object)) defect {
	return defect{result: func(got wire.Op, params object, result any, err error) (any, error) {
		if o, ok := result.(object); ok && got == op && err == nil {
			f(params, o)
		}
		return result, err
	}}
}

// faults replaces a kind of error of an operation.
func faults(op wire.Op, old, new error) defect {
	return defect{result: func(got wire.Op, _ object, result any, err error) (any, error) {
		if got == op && errors.Is(err, old) {
			err = apierror.New(new, "wrong")
		}
		return result, err
	}}
}

// accepts makes an operation succeed instead of returning a kind of error.
func accepts(op wire.Op, kind error) defect {
	return defect{result: func(got wire.Op, _ object, result any, err error) (any, error) {
		if got != op || !errors.Is(err, kind) {
			return result, err
		}
		task := object{"id": "t", "contextId": "c", "url": "https://example.com/parley-check", "status": object{"state": "TASK_STATE_COMPLETED"}}
		switch op {
		case wire.SendMessage:
			return object{"task": task}, nil
		case wire.StreamMessage, wire.SubscribeTask:
			return []object{{"task": task}}, nil
		case wire.ListTasks:
			return object{"tasks": []any{}, "nextPageToken": "", "pageSize": 50, "totalSize": 0}, nil
		}
		delete(task, "status")
		delete(task, "contextId")
		return task, nil
	}}
}

// events changes or drops the events of streams of an operation; n counts them.
func events(op wire.Op, f func(n int, e object) bool) defect {
	return defect{events: func(_ context.Context, got wire.Op, next sink) sink {
		n := 0
		return func(e object) bool {
			n++
			if got == op && !f(n, e) {
				return true
			}
			return next(e)
		}
	}}
}

// lingers keeps a stream open after its end.
func lingers(op wire.Op) defect {
	return defect{events: func(ctx context.Context, got wire.Op, next sink) sink {
		return func(e object) bool {
			more := next(e)
			if s, _ := e["statusUpdate"].(object); got == op && s != nil && terminal(text(s, "status", "state")) {
				<-ctx.Done()
				<-time.After(time.Second) // the caller's deadline is this one, and must pass before the stream ends
			}
			return more
		}
	}}
}

// answer answers the requests that f selects by their path, method, query or body.
func answer(status int, body string, f func(r *http.Request, body string) bool) defect {
	return defect{http: func(w http.ResponseWriter, r *http.Request, b []byte) bool {
		if !f(r, string(b)) {
			return false
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_, _ = w.Write([]byte(body))
		return true
	}}
}

// header changes the header of requests before the server reads it.
func header(f func(http.Header)) defect {
	return defect{http: func(_ http.ResponseWriter, r *http.Request, _ []byte) bool {
		f(r.Header)
		return false
	}}
}

func head(name, value string) defect {
	return defect{header: func(h http.Header) { h.Set(name, value) }}
}

func notify(f func(http.Header, []byte) ([]byte, bool)) defect { return defect{push: f} }

// follows reports whether a message continues a task.
func follows(params object) bool { return text(params, "message", "taskId") != "" }

// taskOf returns the task in the answer to a message; over JSON-RPC of v0.3 it is the answer.
func taskOf(result object) object {
	if t, ok := result["task"].(object); ok {
		return t
	}
	if result["kind"] == "task" {
		return result
	}
	return object{}
}

func isCard(r *http.Request, _ string) bool { return strings.HasSuffix(r.URL.Path, "agent-card.json") }

func notJSON(path string) func(*http.Request, string) bool {
	return func(r *http.Request, body string) bool {
		_, err := wire.Decode([]byte(body))
		return strings.HasPrefix(r.URL.Path, path) && body != "" && err != nil
	}
}

// setVersion replaces a version in requests.
func setVersion(old, new string) defect {
	return header(func(h http.Header) {
		if h.Get("A2A-Version") == old {
			h.Set("A2A-Version", new)
		}
	})
}

const (
	rightCard = `{"name":"sut","supportedInterfaces":[]}`
	rpcResult = `{"jsonrpc":"2.0","id":1,"result":{}}`
	history   = "h"
)

func withHistory(n int) []any {
	all := []any{}
	for range n {
		all = append(all, object{"messageId": history, "role": "ROLE_USER", "parts": []any{object{"text": history}}})
	}
	return all
}

// cases maps requirements to a defect that they must find.
func cases() map[string]defect {
	all := map[string]defect{}
	for _, group := range []map[string]defect{
		cardDefects(), sendDefects(), taskDefects(), streamDefects(), pushDefects(), errorDefects(), bindingDefects(), dataDefects(), legacyDefects(),
	} {
		maps.Copy(all, group)
	}
	return all
}

func cardDefects() map[string]defect {
	return map[string]defect{
		"card.found": answer(404, `{}`, isCard),
		"card.type": {http: func(w http.ResponseWriter, r *http.Request, _ []byte) bool {
			if isCard(r, "") {
				w.Header().Set("Content-Type", "text/html")
				_, _ = w.Write([]byte(rightCard))
			}
			return isCard(r, "")
		}},
		"card.fields":        card(func(c object) { delete(c, "version") }),
		"card.interfaces":    card(func(c object) { c["supportedInterfaces"] = []any{} }),
		"card.bindings":      card(func(c object) { c["supportedInterfaces"].([]any)[1].(object)["protocolBinding"] = "REST" }),
		"card.versions":      card(func(c object) { c["supportedInterfaces"].([]any)[1].(object)["protocolVersion"] = "1.0.0" }),
		"card.urls":          card(func(c object) { c["supportedInterfaces"].([]any)[0].(object)["url"] = "/rpc" }),
		"card.skills":        card(func(c object) { c["skills"] = []any{object{"id": "x", "name": "x", "description": "x"}} }),
		"card.capabilities":  card(func(c object) { c["capabilities"].(object)["streaming"] = "yes" }),
		"card.security":      card(func(c object) { c["securityRequirements"] = []any{object{"schemes": object{"ghost": object{}}}} }),
		"card.schemes":       card(func(c object) { c["securitySchemes"] = object{"old": object{"type": "http"}} }),
		"card.reachable":     card(func(c object) { c["supportedInterfaces"].([]any)[0].(object)["url"] = "http://nowhere.test/" }),
		"card.cache-control": answer(200, rightCard, isCard),
		"card.etag":          answer(200, rightCard, isCard),
		"card.conditional":   header(func(h http.Header) { h.Del("If-None-Match") }),
	}
}

func sendDefects() map[string]defect {
	lenient := accepts(wire.SendMessage, a2a.ErrInvalidParams)
	return map[string]defect{
		"send.answer":   results(wire.SendMessage, func(_, r object) { r["message"] = object{"messageId": "m"} }),
		"send.blocking": results(wire.SendMessage, func(_, r object) { taskOf(r)["status"] = object{"state": "TASK_STATE_WORKING"} }),
		"send.immediately": {result: func(op wire.Op, params object, result any, err error) (any, error) {
			if at(params, "configuration", "returnImmediately") == true {
				return nil, apierror.New(a2a.ErrInternalError, "too fast for me")
			}
			return result, err
		}},
		"send.new-ids":          results(wire.SendMessage, func(_, r object) { taskOf(r)["id"] = "always" }),
		"send.context":          results(wire.SendMessage, func(_, r object) { delete(taskOf(r), "contextId") }),
		"send.context-kept":     results(wire.SendMessage, func(_, r object) { taskOf(r)["contextId"] = "mine" }),
		"send.unknown-task":     accepts(wire.SendMessage, a2a.ErrTaskNotFound),
		"send.ended-task":       faults(wire.SendMessage, a2a.ErrUnsupportedOperation, a2a.ErrInvalidParams),
		"send.continues":        results(wire.SendMessage, func(p, r object) { rename(p, r, "id") }),
		"send.context-inferred": results(wire.SendMessage, func(p, r object) { rename(p, r, "contextId") }),
		"send.context-mismatch": lenient,
		"send.history-zero":     results(wire.SendMessage, func(_, r object) { taskOf(r)["history"] = withHistory(1) }),
		"send.message-only":     results(wire.SendMessage, func(_, r object) { whenMessage(r, func(m object) { m["role"] = "ROLE_USER" }) }),
		"send.no-message":       lenient,
		"send.no-id":            lenient,
		"send.no-role":          lenient,
		"send.no-parts":         lenient,
		"send.empty-part":       lenient,
		"send.double-part":      lenient,
		"send.bad-role":         lenient,
		"send.unknown-field": {result: func(_ wire.Op, params object, result any, err error) (any, error) {
			if params["anotherField"] != nil {
				return nil, apierror.New(a2a.ErrInvalidParams, "anotherField: unknown field")
			}
			return result, err
		}},
	}
}

// rename changes a field of the task that a message continues.
func rename(params, result object, name string) {
	if follows(params) {
		taskOf(result)[name] = "another"
	}
}

func whenMessage(result object, f func(object)) {
	if m, ok := result["message"].(object); ok {
		f(m)
	}
}

// eachTask changes the tasks of a list.
func eachTask(f func(object)) defect {
	return results(wire.ListTasks, func(_, r object) {
		for _, t := range r["tasks"].([]any) {
			f(t.(object))
		}
	})
}

func taskDefects() map[string]defect {
	return map[string]defect{
		"get.task":          results(wire.GetTask, func(_, r object) { r["status"] = object{"state": "TASK_STATE_FAILED"} }),
		"get.unknown":       faults(wire.GetTask, a2a.ErrTaskNotFound, a2a.ErrInvalidParams),
		"get.history-zero":  results(wire.GetTask, func(_, r object) { r["history"] = withHistory(1) }),
		"get.history-limit": results(wire.GetTask, func(_, r object) { r["history"] = withHistory(2) }),
		"cancel.task":       results(wire.CancelTask, func(_, r object) { r["status"] = object{"state": "TASK_STATE_WORKING"} }),
		"cancel.unknown":    faults(wire.CancelTask, a2a.ErrTaskNotFound, a2a.ErrTaskNotCancelable),
		"cancel.ended":      faults(wire.CancelTask, a2a.ErrTaskNotCancelable, a2a.ErrUnsupportedOperation),
		"cancel.stays": results(wire.GetTask, func(_, r object) {
			if text(r, "status", "state") == "TASK_STATE_CANCELED" {
				r["status"] = object{"state": "TASK_STATE_COMPLETED"}
			}
		}),
		"list.finds":        results(wire.ListTasks, func(_, r object) { r["tasks"] = []any{} }),
		"list.fields":       results(wire.ListTasks, func(_, r object) { delete(r, "nextPageToken") }),
		"list.empty":        results(wire.ListTasks, func(_, r object) { r["tasks"] = []any{object{"id": "t", "contextId": "c"}} }),
		"list.no-artifacts": eachTask(func(t object) { t["artifacts"] = []any{object{"artifactId": "a"}} }),
		"list.artifacts":    eachTask(func(t object) { delete(t, "artifacts") }),
		"list.order": results(wire.ListTasks, func(_, r object) {
			for i, t := range list(r, "tasks") {
				t.(object)["status"].(object)["timestamp"] = fmt.Sprintf("2026-01-01T00:%02d:00.000Z", i)
			}
		}),
		"list.status": results(wire.ListTasks, func(_, r object) {
			r["tasks"] = []any{object{"id": "t", "status": object{"state": "TASK_STATE_COMPLETED"}}}
		}),
		"list.pages":     results(wire.ListTasks, func(_, r object) { r["nextPageToken"] = "" }),
		"list.bad-token": accepts(wire.ListTasks, a2a.ErrInvalidParams),
	}
}

func streamDefects() map[string]defect {
	send, sub := wire.StreamMessage, wire.SubscribeTask
	var sent, opened atomic.Int64
	update := func(f func(object)) defect {
		return events(send, func(_ int, e object) bool {
			for _, arm := range []string{"statusUpdate", "artifactUpdate"} {
				if u, ok := e[arm].(object); ok {
					f(u)
				}
			}
			return true
		})
	}
	return map[string]defect{
		"stream.first": events(send, func(n int, _ object) bool { return n > 1 }),
		"stream.arms":  events(send, func(_ int, e object) bool { delete(e, "artifactUpdate"); return true }),
		"stream.ends":  lingers(send),
		"stream.order": {events: func(_ context.Context, op wire.Op, next sink) sink {
			return func(e object) bool {
				return next(e) && (e["statusUpdate"] == nil || next(object{"statusUpdate": object{
					"taskId": "t", "contextId": "c", "status": object{"state": "TASK_STATE_SUBMITTED"},
				}}))
			}
		}},
		"stream.ids":    update(func(u object) { u["taskId"] = "other" }),
		"stream.result": results(wire.GetTask, func(_, r object) { r["status"] = object{"state": "TASK_STATE_FAILED"} }),
		"stream.message-only": {events: func(_ context.Context, op wire.Op, next sink) sink {
			return func(e object) bool {
				if !next(e) {
					return false
				}
				return next(e) // twice
			}
		}},
		"stream.chunks":   update(func(u object) { delete(u, "append") }),
		"stream.type":     head("Content-Type", "text/plain"),
		"stream.envelope": bytesOf(`"jsonrpc":"2.0"`, `"jsonrpc":"1.0"`),
		"stream.early-error": {http: func(w http.ResponseWriter, r *http.Request, b []byte) bool {
			if !bytes.Contains(b, []byte(`"taskId"`)) || r.Header.Get("Accept") != "text/event-stream" || r.URL.Path != "/a2a" {
				return false
			}
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = w.Write([]byte("data: {\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":-32001,\"message\":\"none\"}}\n\n"))
			return true
		}},
		"stream.undeclared": card(func(c object) { c["capabilities"].(object)["streaming"] = false }),
		"subscribe.first":   events(sub, func(n int, e object) bool { return n > 1 }),
		"subscribe.ends":    lingers(sub),
		"subscribe.unknown": faults(sub, a2a.ErrTaskNotFound, a2a.ErrInvalidParams),
		"subscribe.ended":   accepts(sub, a2a.ErrUnsupportedOperation),
		"subscribe.broadcast": events(sub, func(n int, e object) bool {
			if u, ok := e["statusUpdate"].(object); ok {
				u = maps.Clone(u)
				u["metadata"] = object{"n": sent.Add(1)}
				e["statusUpdate"] = u
			}
			return true
		}),
		"subscribe.independent": {events: func(_ context.Context, op wire.Op, next sink) sink {
			number := opened.Add(1)
			return func(e object) bool { return next(e) && number%2 == 1 }
		}},
	}
}

// elsewhere changes the URL of the webhook that an operation returns.
func elsewhere(op wire.Op) defect {
	return results(op, func(_, r object) {
		if inner, ok := r["pushNotificationConfig"].(object); ok {
			r = inner // v0.3
		}
		r["url"] = "https://example.com/elsewhere"
	})
}

func pushDefects() map[string]defect {
	var deleted atomic.Int64
	return map[string]defect{
		"push.create": elsewhere(wire.CreatePush),
		"push.get":    elsewhere(wire.GetPush),
		"push.list":   noHooks(),
		"push.delete": accepts(wire.GetPush, a2a.ErrTaskNotFound),
		"push.delete-again": {result: func(op wire.Op, _ object, result any, err error) (any, error) {
			if op == wire.DeletePush && deleted.Add(1)%2 == 0 {
				return nil, apierror.New(a2a.ErrTaskNotFound, "it is gone")
			}
			return result, err
		}},
		"push.get-unknown":  faults(wire.GetPush, a2a.ErrTaskNotFound, a2a.ErrInvalidParams),
		"push.unknown-task": accepts(wire.CreatePush, a2a.ErrTaskNotFound),
		"push.delivers":     notify(func(http.Header, []byte) ([]byte, bool) { return nil, false }),
		"push.payload": notify(func(_ http.Header, b []byte) ([]byte, bool) {
			return bytes.Replace(b, []byte("{"), []byte(`{"task":{},`), 1), true
		}),
		"push.authenticates": notify(func(h http.Header, b []byte) ([]byte, bool) { h.Del("Authorization"); return b, true }),
		"push.type": notify(func(h http.Header, b []byte) ([]byte, bool) {
			h.Set("Content-Type", "application/json")
			return b, true
		}),
		"push.undeclared": faults(wire.ListPush, a2a.ErrPushNotificationNotSupported, a2a.ErrUnsupportedOperation),
	}
}

func errorDefects() map[string]defect {
	credential := func(old func(string) bool) defect {
		return header(func(h http.Header) {
			if old(h.Get("Authorization")) {
				h.Set("Authorization", "Bearer "+everything.key)
				h.Del("X-Api-Key")
			}
		})
	}
	return map[string]defect{
		"extended.undeclared": faults(wire.ExtendedCard, a2a.ErrUnsupportedOperation, a2a.ErrInvalidParams),
		"extended.guarded":    credential(func(s string) bool { return s == "" }),
		"extended.card":       refuses(wire.ExtendedCard),
		"auth.missing":        credential(func(s string) bool { return s == "" }),
		"auth.wrong":          credential(func(s string) bool { return s != "" }),
		"auth.challenge":      answer(403, `{"error":{"code":403}}`, func(r *http.Request, _ string) bool { return !isCard(r, "") && r.Header.Get("Authorization") == "" }),
		"version.unsupported": setVersion("99.0", "1.0"),
		"version.missing":     setVersion("", "1.0"),
		"version.patch":       setVersion("1.0.1", "99.0"),
		"error.message": {body: func(b []byte) []byte {
			return regexp.MustCompile(`"message":"[^"]*"`).ReplaceAll(b, []byte(`"message":""`))
		}},
		"error.details": bytesOf(`"@type"`, `"type"`),
		"error.status": answer(500, `{"error":{"code":500,"status":"NOT_FOUND","message":"m","details":[{"@type":"x/google.rpc.ErrorInfo","reason":"TASK_NOT_FOUND"}]}}`,
			func(r *http.Request, _ string) bool { return strings.HasPrefix(r.URL.Path, "/v1/a2a/tasks/") }),
		"error.info":     bytesOf("TASK_NOT_FOUND", "NOT_THERE"),
		"error.info-rpc": bytesOf("TASK_NOT_FOUND", "NOT_THERE"),
		"error.domain":   bytesOf("a2a-protocol.org", "example.com"),
		"across.task":    bytesOf("Generated text content", "something else"),
		"across.error":   bytesOf("TASK_NOT_FOUND", "NOT_THERE"),
	}
}

func bindingDefects() map[string]defect {
	contains := func(part string) func(*http.Request, string) bool {
		return func(r *http.Request, body string) bool {
			return strings.Contains(r.Method+" "+r.URL.RequestURI()+" "+body, part)
		}
	}
	return map[string]defect{
		"rpc.envelope":       bytesOf(`"jsonrpc":"2.0"`, `"jsonrpc":"1.0"`),
		"rpc.number-id":      bytesOf(`"id":4711`, `"id":"4711"`),
		"rpc.type":           head("Content-Type", "text/plain"),
		"rpc.parse-error":    answer(200, rpcResult, notJSON("/a2a")),
		"rpc.trailing":       answer(200, rpcResult, notJSON("/a2a")),
		"rpc.no-method":      bytesOf("-32600", "-32603"),
		"rpc.unknown-method": bytesOf("-32601", "-32603"),
		"rpc.bad-params":     bytesOf("-32602", "-32603"),
		"rpc.batch":          answer(200, rpcResult, func(_ *http.Request, body string) bool { return strings.HasPrefix(body, "[") }),
		"rpc.error-object":   bytesOf(`"code":-32001`, `"kind":"x","code":-32001`),
		"rest.type":          head("Content-Type", "text/html"),
		"rest.error-body":    bytesOf(`"code":404`, `"code":5`),
		"rest.parse-error":   answer(200, `{}`, notJSON("/v1/a2a")),
		"rest.wrong-type":    answer(200, `{}`, notJSON("/v1/a2a")),
		"rest.bad-query":     answer(200, `{}`, contains("pageSize=many")),
		"rest.unknown-path":  answer(200, `{}`, contains("/no/such/path")),
		"rest.subscribe": answer(405, `{}`, func(r *http.Request, _ string) bool {
			return r.Method == "GET" && strings.HasSuffix(r.URL.Path, ":subscribe")
		}),
	}
}

func dataDefects() map[string]defect {
	const part = `{"text":"Generated text content"}`
	return map[string]defect{
		"data.camel-case": bytesOf(`"contextId"`, `"context_id"`),
		"data.states":     bytesOf("TASK_STATE_COMPLETED", "completed"),
		"data.roles":      bytesOf("ROLE_AGENT", "agent"),
		"data.timestamps": bytesOf(`.000Z"`, `.000+02:00"`),
		"data.task":       results(wire.SendMessage, func(_, r object) { delete(taskOf(r), "id") }),
		"data.message":    results(wire.SendMessage, func(_, r object) { whenMessage(r, func(m object) { delete(m, "messageId") }) }),
		"data.artifact":   bytesOf(`"artifactId":"output"`, `"artifactId":""`),
		"data.part":       bytesOf(part, `{"text":"a","url":"https://example.com"}`),
		"data.raw":        bytesOf("ZmlsZSBjb250ZW50Cg==", "*hello*"),
		"data.no-kind":    bytesOf(part, `{"kind":"text","text":"a"}`),
	}
}

func legacyDefects() map[string]defect {
	return map[string]defect{
		"v03.send":                bytesOf(`"kind":"task"`, `"kind":"thing"`),
		"v03.task":                bytesOf(`"kind":"task",`, ``),
		"v03.states":              bytesOf(`"state":"completed"`, `"state":"TASK_STATE_COMPLETED"`),
		"v03.roles":               bytesOf(`"role":"agent"`, `"role":"ROLE_AGENT"`),
		"v03.parts":               bytesOf(`"kind":"text",`, ``),
		"v03.get":                 results(wire.GetTask, func(_, r object) { r["id"] = "other" }),
		"v03.get-unknown":         bytesOf("-32001", "-32000"),
		"v03.cancel-unknown":      bytesOf("-32001", "-32000"),
		"v03.cancel-ended":        bytesOf("-32002", "-32004"),
		"v03.continues":           results(wire.SendMessage, func(p, r object) { rename(p, r, "id") }),
		"v03.unknown-method":      bytesOf("-32601", "-32600"),
		"v03.envelope":            bytesOf(`"id":4711`, `"id":"4711"`),
		"v03.stream":              bytesOf(`"kind":"status-update"`, `"kind":"update"`),
		"v03.final":               bytesOf(`"final":true`, `"final":false`),
		"v03.resubscribe-unknown": bytesOf("-32001", "-32000"),
		"v03.push":                noHooks(),
		"v03.push-undeclared":     bytesOf("-32003", "-32004"),
	}
}

// without are the requirements for features that a server does not offer.
var without = []string{"push.undeclared", "extended.undeclared", "v03.push-undeclared"}

// TestEachCheckFindsItsDefect breaks the hub in a different way for each requirement, which
// must find it.
func TestEachCheckFindsItsDefect(t *testing.T) {
	t.Parallel()
	defects := cases()
	for _, q := range Requirements() {
		d, ok := defects[q.ID]
		if !ok {
			t.Errorf("there is no defect for %s", q.ID)
			continue
		}
		delete(defects, q.ID)
		t.Run(q.ID, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				o := everything
				if slices.Contains(without, q.ID) {
					o = features{}
				}
				o.defect = d
				wantFound(t, checked(t, o, q.ID), q)
			})
		})
	}
	for id := range defects {
		t.Errorf("there is no requirement %s", id)
	}
}

// TestReasons compares the report's reason for each defect with testdata/reasons.json.
func TestReasons(t *testing.T) {
	t.Parallel()
	got := map[string]string{}
	for id, d := range cases() {
		if id == "subscribe.broadcast" {
			continue // it shows two streams in arbitrary order
		}
		synctest.Test(t, func(t *testing.T) {
			o := everything
			if slices.Contains(without, id) {
				o = features{}
			}
			o.defect = d
			for _, r := range checked(t, o, id).Results {
				if r.Outcome == Fail {
					got[id] = r.Interface + ": " + reason(&r)
					return
				}
			}
		})
	}
	wantGolden(t, "reasons.json", got)
}

// TestFollowingReasons compares the reasons of all requirements that a defect breaks, in a
// report over JSON-RPC, with testdata/following.json.
func TestFollowingReasons(t *testing.T) {
	t.Parallel()
	got := map[string]string{}
	for name, d := range map[string]defect{
		"tasks without context":   results(wire.SendMessage, func(_, r object) { delete(taskOf(r), "contextId") }),
		"messages without it":     results(wire.SendMessage, func(_, r object) { whenMessage(r, func(m object) { delete(m, "contextId") }) }),
		"no messages":             refuses(wire.SendMessage),
		"no webhooks, but a card": refuses(wire.CreatePush),
		"no lists":                refuses(wire.ListTasks),
		"webhooks elsewhere":      elsewhere(wire.GetPush),
	} {
		synctest.Test(t, func(t *testing.T) {
			o := everything
			o.defect = d
			for _, r := range checked(t, o).Results {
				if r.Outcome != Pass && (r.Interface == "jsonrpc 1.0" || r.Interface == "jsonrpc 0.3") {
					got[name+" "+r.ID] = string(r.Outcome) + ": " + reason(&r)
				}
			}
		})
	}
	wantGolden(t, "following.json", got)
}

// refuses replaces the results of an operation by an error.
func refuses(op wire.Op) defect {
	return defect{result: func(got wire.Op, _ object, result any, err error) (any, error) {
		if got == op && err == nil {
			err = apierror.New(a2a.ErrUnsupportedOperation, "not here")
		}
		return result, err
	}}
}

// wantGolden compares got with a file of testdata.
func wantGolden(t *testing.T, name string, got map[string]string) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	var want map[string]string
	if err := json.Unmarshal(data, &want); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		b, err := json.MarshalIndent(got, "", "  ")
		t.Errorf("%s (-want +got):\n%s\n%s %v", name, diff, b, err)
	}
}

var anyID = regexp.MustCompile(`[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}`)

// reason returns the detail of a result without the check's generated ids, and the number of
// exchanges in its evidence.
func reason(r *Result) string {
	return fmt.Sprintf("%s (%d)", anyID.ReplaceAllString(r.Detail, "ID"), len(r.Evidence))
}

// wantFound requires a failure of q with evidence.
func wantFound(t *testing.T, r *Report, q Requirement) {
	t.Helper()
	found := false
	for _, result := range r.Results {
		if result.Outcome != Fail {
			continue
		}
		found = true
		if len(result.Evidence) == 0 || result.Detail == "" {
			t.Errorf("%s fails on %s without evidence", q.ID, result.Interface)
		}
	}
	if !found {
		t.Errorf("%s does not fail: %+v", q.ID, r.Results)
	}
	if r.OK() && q.Level == Must {
		t.Errorf("the report is OK, although %s fails", q.ID)
	}
}
