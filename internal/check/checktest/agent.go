package checktest

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/parley-a2a/parley/internal/check/wire"
)

// agent is the state shared by all bindings. Its methods require the server's mu to be held,
// unless they document otherwise.
type agent struct {
	server *Server
	tasks  map[string]*task
	hooks  map[string]Object // by "task/id"
	next   int
	done   sync.WaitGroup // running notifications
}

type task struct {
	object Object
	dialog bool // waits for "done"
	number int
	subs   map[chan Object]bool
}

func (t *task) id() string    { return t.object["id"].(string) }
func (t *task) state() string { return t.object["status"].(Object)["state"].(string) }
func (t *task) over() bool {
	return slices.Contains([]string{"COMPLETED", "FAILED", "CANCELED", "REJECTED"}, strings.TrimPrefix(t.state(), "TASK_STATE_"))
}

func (a *agent) status(state string) Object {
	a.next++
	return Object{"state": "TASK_STATE_" + state, "timestamp": fmt.Sprintf("2026-01-01T00:%02d:%02d.000Z", a.next/60%60, a.next%60)}
}

func (a *agent) id(kind string) string {
	a.next++
	return fmt.Sprintf("%s-%d", kind, a.next)
}

func str(v any, path ...string) string {
	for _, name := range path {
		m, _ := v.(Object)
		v = m[name]
	}
	s, _ := v.(string)
	return s
}

// do performs an operation that does not stream.
func (a *agent) do(op wire.Op, params Object) (any, *Fault) {
	switch op {
	case wire.SendMessage:
		return a.send(params)
	case wire.GetTask, wire.CancelTask:
		return a.known(op, params)
	case wire.ListTasks:
		return a.list(params)
	case wire.ExtendedCard:
		if a.server.options.Extended {
			return a.server.Card, nil
		}
		return nil, &Fault{wire.Unsupported, "no extended card"}
	case wire.CreatePush, wire.GetPush, wire.ListPush, wire.DeletePush:
		return a.push(op, params)
	}
	return nil, &Fault{wire.MethodNotFound, "no such method"}
}

func (a *agent) known(op wire.Op, params Object) (any, *Fault) {
	id, isText := params["id"].(string)
	if !isText {
		return nil, &Fault{wire.InvalidParams, "id is no text"}
	}
	t := a.tasks[id]
	switch {
	case t == nil:
		return nil, &Fault{wire.TaskNotFound, "task not found"}
	case op == wire.GetTask:
		return a.shown(t, params["historyLength"], true), nil
	case t.over():
		return nil, &Fault{wire.TaskNotCancelable, "the task is over"}
	}
	a.move(t, "CANCELED")
	return a.shown(t, nil, true), nil
}

// shown returns a copy of a task for an answer.
func (a *agent) shown(t *task, historyLength any, artifacts bool) Object {
	o := maps.Clone(t.object)
	if n, ok := number(historyLength); ok {
		h := o["history"].([]any)
		o["history"] = h[max(0, len(h)-n):]
		if n == 0 {
			delete(o, "history")
		}
	}
	if !artifacts {
		delete(o, "artifacts")
	}
	return o
}

func number(v any) (int, bool) {
	n, err := json.Number(strings.Trim(fmt.Sprint(v), `"`)).Int64()
	return int(n), err == nil
}

// valid checks the message of a send and returns its first text.
func (a *agent) valid(params Object) (m Object, first string, f *Fault) {
	bad := func(why string) (Object, string, *Fault) { return nil, "", &Fault{wire.InvalidParams, why} }
	m, _ = params["message"].(Object)
	parts, _ := m["parts"].([]any)
	if str(m, "messageId") == "" || len(parts) == 0 || str(m, "role") != "ROLE_USER" {
		return bad("the message lacks something")
	}
	for _, p := range parts {
		n := 0
		for _, arm := range []string{"text", "raw", "url", "data"} {
			if _, ok := p.(Object)[arm]; ok {
				n++
			}
		}
		if n != 1 {
			return bad("a part has not one content")
		}
	}
	return m, str(parts[0], "text"), nil
}

// begin returns the task of a message, or creates one.
func (a *agent) begin(m Object) (*task, *Fault) {
	context := str(m, "contextId")
	if id := str(m, "taskId"); id != "" {
		t := a.tasks[id]
		switch {
		case t == nil:
			return nil, &Fault{wire.TaskNotFound, "task not found"}
		case t.over():
			return nil, &Fault{wire.Unsupported, "the task is over"}
		case context != "" && context != t.object["contextId"]:
			return nil, &Fault{wire.InvalidParams, "the task is in another context"}
		}
		t.object["history"] = append(t.object["history"].([]any), m)
		return t, nil
	}
	t := &task{subs: map[chan Object]bool{}, number: a.next}
	t.object = Object{"id": a.id("task"), "contextId": cmp.Or(context, a.id("context")), "status": a.status("SUBMITTED"), "history": []any{m}}
	a.tasks[t.id()] = t
	return t, nil
}

func (a *agent) send(params Object) (any, *Fault) {
	m, first, f := a.valid(params)
	if f != nil {
		return nil, f
	}
	if strings.HasPrefix(first, "tck-message-response") {
		return Object{"message": a.reply(m)}, nil
	}
	t, f := a.begin(m)
	if f != nil {
		return nil, f
	}
	config, _ := params["configuration"].(Object)
	a.act(t, first, func(Object) {})
	return Object{"task": a.shown(t, config["historyLength"], true)}, nil
}

func (a *agent) reply(m Object) Object {
	return Object{
		"messageId": a.id("message"), "role": "ROLE_AGENT", "contextId": cmp.Or(str(m, "contextId"), a.id("context")),
		"parts": []any{Object{"text": "Direct message response"}},
	}
}

// act executes the behaviour that the first text requests, and passes each event to tell.
func (a *agent) act(t *task, first string, tell func(Object)) {
	name, _, _ := strings.Cut(first, " ")
	if ends := a.server.options.Ends; ends > 0 && (name == "tck-input-required" || name == "tck-cancel") {
		a.step(t, "WORKING", tell)
		a.done.Go(func() { a.later(t, ends) })
		return
	}
	switch name {
	case "tck-input-required":
		a.step(t, "INPUT_REQUIRED", tell)
	case "tck-reject-task":
		a.step(t, "REJECTED", tell)
	case "tck-cancel":
		a.step(t, "WORKING", tell)
	case "tck-long-running":
		a.step(t, "WORKING", tell)
		a.done.Go(func() { a.later(t, work) })
	case "tck-task-failure", "tck-auth-required":
		t.object["status"] = a.status("WORKING")
		a.step(t, map[string]string{"tck-task-failure": "FAILED", "tck-auth-required": "AUTH_REQUIRED"}[name], tell)
		t.object["status"].(Object)["message"] = a.reply(Object{"contextId": t.object["contextId"]})
	case "tck-multi-turn":
		t.dialog = true
		a.step(t, "INPUT_REQUIRED", tell)
	default:
		if t.dialog && name != "done" {
			a.step(t, "INPUT_REQUIRED", tell)
			return
		}
		a.step(t, "WORKING", tell)
		for i, p := range given[name] {
			a.give(t, p, i, tell)
		}
		a.step(t, "COMPLETED", tell)
	}
}

// given are the parts of the behaviours' artifacts, each sent in an event of its own.
var given = map[string][]Object{
	"tck-artifact-text":     {{"text": "Generated text content"}},
	"tck-artifact-file":     {{"raw": "aGVsbG8=", "filename": "output.txt"}},
	"tck-artifact-file-url": {{"url": "https://example.com/output.txt"}},
	"tck-artifact-data":     {{"data": Object{"key": "value"}}},
	"tck-stream-basic":      {{"text": "Stream hello"}},
	"tck-stream-chunked":    {{"text": "chunk-1 "}, {"text": "chunk-2"}},
}

// work is the duration of a long-running task.
const work = 5 * time.Second

// later completes a task after a delay, unless it is canceled. The caller must not hold the
// lock.
func (a *agent) later(t *task, after time.Duration) {
	select {
	case <-time.After(after):
	case <-a.server.stopped:
		return
	}
	a.server.mu.Lock()
	defer a.server.mu.Unlock()
	if !t.over() {
		a.give(t, Object{"text": "at last"}, 0, func(Object) {})
		a.move(t, "COMPLETED")
	}
}

// step changes the state of a task and passes the update to tell.
func (a *agent) step(t *task, state string, tell func(Object)) {
	a.move(t, state)
	tell(a.update(t))
}

func (a *agent) update(t *task) Object {
	return Object{"statusUpdate": Object{"taskId": t.id(), "contextId": t.object["contextId"], "status": t.object["status"]}}
}

// move changes the state, and notifies subscribers and webhooks.
func (a *agent) move(t *task, state string) {
	t.object["status"] = a.status(state)
	for c := range t.subs {
		c <- a.update(t) // the channel has room for all updates
		if t.over() {
			close(c)
			delete(t.subs, c)
		}
	}
	for key, h := range a.hooks {
		if strings.HasPrefix(key, t.id()+"/") && t.over() {
			a.notify(h, a.update(t))
		}
	}
}

// give adds a chunk to the task's only artifact.
func (a *agent) give(t *task, part Object, chunk int, tell func(Object)) {
	artifact := Object{"artifactId": "artifact-1", "parts": []any{part}}
	update := Object{"taskId": t.id(), "contextId": t.object["contextId"], "artifact": artifact}
	if chunk > 0 {
		update["append"] = true
		first := t.object["artifacts"].([]any)[0].(Object)
		artifact = Object{"artifactId": "artifact-1", "parts": append(slices.Clone(first["parts"].([]any)), part)}
	}
	t.object["artifacts"] = []any{artifact}
	tell(Object{"artifactUpdate": update})
}

// list lists tasks, the latest first.
func (a *agent) list(params Object) (any, *Fault) {
	size, from := 50, 0
	if v, ok := params["pageSize"]; ok {
		if size, ok = number(v); !ok || size < 1 || size > 100 {
			return nil, &Fault{wire.InvalidParams, "pageSize"}
		}
	}
	if token := str(params, "pageToken"); token != "" {
		if _, err := fmt.Sscanf(token, "from-%d", &from); err != nil {
			return nil, &Fault{wire.InvalidParams, "pageToken"}
		}
	}
	var all []*task
	for _, t := range a.tasks {
		if c := str(params, "contextId"); c != "" && c != t.object["contextId"] {
			continue
		}
		if s := str(params, "status"); s == "" || s == t.state() {
			all = append(all, t)
		}
	}
	slices.SortFunc(all, func(x, y *task) int { return y.number - x.number })
	page, next := []any{}, ""
	for i := from; i < min(from+size, len(all)); i++ {
		page = append(page, a.shown(all[i], 0, params["includeArtifacts"] == true || str(params, "includeArtifacts") == "true"))
	}
	if from+size < len(all) {
		next = fmt.Sprintf("from-%d", from+size)
	}
	return Object{"tasks": page, "nextPageToken": next, "pageSize": size, "totalSize": len(all)}, nil
}

func (a *agent) push(op wire.Op, params Object) (any, *Fault) {
	id := str(params, "taskId")
	key := id + "/" + str(params, "id")
	switch {
	case !a.server.options.Push:
		return nil, &Fault{wire.PushNotSupported, "no webhooks here"}
	case a.tasks[id] == nil:
		return nil, &Fault{wire.TaskNotFound, "task not found"}
	case op == wire.CreatePush:
		h := maps.Clone(params)
		h["id"] = cmp.Or(str(params, "id"), a.id("hook"))
		a.hooks[id+"/"+str(h, "id")] = h
		return h, nil
	case op == wire.ListPush:
		all := []any{}
		for key, h := range a.hooks {
			if strings.HasPrefix(key, id+"/") {
				all = append(all, h)
			}
		}
		return Object{"configs": all}, nil
	case op == wire.DeletePush:
		delete(a.hooks, key)
		return Object{}, nil
	case a.hooks[key] == nil:
		return nil, &Fault{wire.TaskNotFound, "no such webhook"}
	}
	return a.hooks[key], nil
}

// notify sends a notification to a webhook in the background.
func (a *agent) notify(hook, event Object) {
	header := http.Header{"Content-Type": {"application/a2a+json"}}
	if scheme := str(hook, "authentication", "scheme"); scheme != "" {
		header.Set("Authorization", scheme+" "+str(hook, "authentication", "credentials"))
	}
	body, told := marshal(event), true
	if d := a.server.options.Defect.Push; d != nil {
		body, told = d(header, body)
	}
	if told {
		a.done.Go(func() { a.deliver(str(hook, "url"), header, body) })
	}
}

func (a *agent) deliver(url string, header http.Header, body []byte) {
	ctx, cancel := context.WithTimeout(context.Background(), wire.DefaultTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		return
	}
	req.Header = header
	if res, err := a.server.HTTP.RoundTrip(req); err == nil {
		res.Body.Close()
	}
}
