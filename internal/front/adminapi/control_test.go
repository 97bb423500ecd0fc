package adminapi_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/internal/adminjson"
	"github.com/parley-a2a/parley/internal/agents/builtin"
	"github.com/parley-a2a/parley/internal/agents/queue"
	"github.com/parley-a2a/parley/internal/bus"
	"github.com/parley-a2a/parley/internal/bus/protocol"
	"github.com/parley-a2a/parley/internal/directory/dirstore"
	"github.com/parley-a2a/parley/internal/engine"
	"github.com/parley-a2a/parley/internal/engine/operator"
	"github.com/parley-a2a/parley/internal/front/adminapi"
	"github.com/parley-a2a/parley/internal/store/memstore"
	"github.com/parley-a2a/parley/internal/task"
	"github.com/parley-a2a/parley/internal/testing/suite/tasktest"
)

// withControl returns a handler of an engine that does not run. A task of ann and one of bob
// have the same id, and another task of ann has ended.
func withControl(t *testing.T) *adminapi.Handler {
	t.Helper()
	h, _, _ := keyed(t)
	store := new(memstore.Store)
	e := engine.New(engine.Config{Store: store})
	echo := builtin.Agents()[0]
	if err := e.Register(engine.Agent{Name: "echo", Card: echo.Card, Executor: echo.Executor}); err != nil {
		t.Fatal(err)
	}
	for _, owner := range []task.Owner{"ann", "bob"} {
		tasktest.Append(t, store, tasktest.NewHead(owner, "t1"), tasktest.Created(tasktest.At(0), "hi"), tasktest.Status(tasktest.At(1), task.InputRequired, "?"))
		read(t, store, owner)
	}
	tasktest.Append(t, store, tasktest.NewHead("ann", "t2"), tasktest.Created(tasktest.At(0), "hi"), tasktest.Status(tasktest.At(1), task.Completed, "!"))
	h.Hub, h.Control = e, &operator.Operator{Engine: e, Tasks: store, Notes: new(dirstore.Memory)}
	return h
}

// read records that the message of t1 was read, so that the task waits for its caller.
func read(t *testing.T, store *memstore.Store, owner task.Owner) {
	t.Helper()
	h, err := store.Head(t.Context(), owner, "t1")
	if err != nil {
		t.Fatal(err)
	}
	tasktest.Alter(t, store, h, func(h *task.Head) { h.Consumed = h.LastMessage })
}

func TestOperations(t *testing.T) {
	t.Parallel()
	h := withControl(t)
	for _, path := range []string{"tasks/t1/redrive", "tasks/t1/cancel", "tasks/t1/fail", "tasks/t1/reassign", "agents/echo/pause", "agents/echo/resume"} {
		got := as(t, h, clerk, "POST /api/v1/"+path, "{}")
		got.failure(t, 403, "PERMISSION_DENIED", "UNAUTHORIZED")
	}
	for _, tt := range []struct {
		request, body string
		code          int
		status        string
		reason        string
	}{
		{"POST /api/v1/tasks/t1/redrive", "", 400, "INVALID_ARGUMENT", "INVALID_PARAMS"},
		{"POST /api/v1/tasks/t1/redrive", `{"owner":"ann"}`, 409, "FAILED_PRECONDITION", "NOT_POSSIBLE"},
		{"POST /api/v1/tasks/t2/redrive", "", 409, "FAILED_PRECONDITION", "NOT_POSSIBLE"},
		{"POST /api/v1/tasks/t2/fail", "", 409, "FAILED_PRECONDITION", "NOT_POSSIBLE"},
		{"POST /api/v1/tasks/t2/reassign", "", 400, "INVALID_ARGUMENT", "INVALID_PARAMS"},
		{"POST /api/v1/tasks/t2/reassign", `{"agent":"nobody"}`, 404, "NOT_FOUND", "AGENT_NOT_FOUND"},
		{"POST /api/v1/tasks/t1/cancel", "", 400, "INVALID_ARGUMENT", "INVALID_PARAMS"},
		{"POST /api/v1/tasks/t1/cancel", `{"owner":"bob","revision":"old"}`, 409, "FAILED_PRECONDITION", "TASK_CHANGED"},
		{"POST /api/v1/tasks/none/cancel", "", 404, "NOT_FOUND", "TASK_NOT_FOUND"},
		{"POST /api/v1/tasks/none/fail", "", 404, "NOT_FOUND", "TASK_NOT_FOUND"},
		{"POST /api/v1/tasks/t2/fail", `{"colour":"red"}`, 400, "INVALID_ARGUMENT", ""},
		{"POST /api/v1/tasks//fail", "", 404, "NOT_FOUND", ""},
		{"POST /api/v1/tasks/t2/burn", "", 404, "NOT_FOUND", ""},
		{"POST /api/v1/agents/nobody/pause", "", 404, "NOT_FOUND", "AGENT_NOT_FOUND"},
		{"POST /api/v1/agents/echo/pause", `{"reason":"` + strings.Repeat("x", 2001) + `"}`, 400, "INVALID_ARGUMENT", "INVALID_PARAMS"},
	} {
		got := as(t, h, boss, tt.request, tt.body)
		if got.code != tt.code {
			t.Errorf("%s %s = %d %s, want %d", tt.request, tt.body, got.code, got.body, tt.code)
			continue
		}
		if tt.reason != "" {
			got.failure(t, tt.code, tt.status, tt.reason)
		}
	}
	got := as(t, h, boss, "POST /api/v1/tasks/t1/fail", `{"owner":"bob","reason":"no more"}`)
	var o adminapi.Operated
	if err := json.Unmarshal([]byte(got.body), &o); err != nil || o.TaskID != "t1" || o.Owner != "bob" || o.State != task.Failed.String() {
		t.Errorf("fail = %d %s", got.code, got.body)
	}
	if got := as(t, h, boss, "GET /api/v1/tasks/t1/fail", ""); got.code != 405 {
		t.Errorf("GET of an operation = %d", got.code)
	}
}

func TestPausedAgents(t *testing.T) {
	t.Parallel()
	h := withControl(t)
	paused := func() bool {
		var list adminjson.AgentList
		if err := json.Unmarshal([]byte(as(t, h, clerk, "GET /api/v1/agents", "").body), &list); err != nil {
			t.Fatal(err)
		}
		return list.Agents[0].Paused
	}
	for verb, want := range map[string]bool{"pause": true, "resume": false} {
		got := as(t, h, boss, "POST /api/v1/agents/echo/"+verb, "")
		if got.code != 200 || paused() != want {
			t.Errorf("%s = %d %s, paused %v", verb, got.code, got.body, paused())
		}
		_ = h.Control.Resume(t.Context(), "echo")
	}
	log := new(auditor)
	h.Audit = log
	as(t, h, boss, "POST /api/v1/agents/echo/pause", `{"reason":"a new model"}`)
	if n := len(log.entries); n != 2 || log.entries[1] != "ended boss agent.pause agent/echo task= agent=echo ok  what=pause reason=a new model" {
		t.Errorf("the audit log has %q", log.entries)
	}
	h.Audit = nil
	// A pause of a removed agent can be reverted.
	if err := h.Control.Pause(t.Context(), operator.Pause{Agent: "gone", By: "boss"}); err != nil {
		t.Fatal(err)
	}
	if got := as(t, h, boss, "POST /api/v1/agents/gone/resume", ""); got.code != 200 || h.Control.IsPaused("gone") {
		t.Errorf("resume of an agent that is gone = %d %s", got.code, got.body)
	}
}

func TestDeadLetters(t *testing.T) {
	t.Parallel()
	h, _, _ := keyed(t)
	b := new(bus.Memory)
	h.Dead = &queue.DeadLetters{Bus: b, Store: new(queue.MemLetters)}
	put := func(id a2a.TaskID, e *bus.Envelope) queue.LetterID {
		t.Helper()
		e.Source, e.Task = "hub/h", string(id)
		l, err := queue.LetterOf(e, time.Now())
		if err != nil {
			t.Fatal(err)
		}
		if err := h.Dead.Store.PutLetter(t.Context(), l); err != nil {
			t.Fatal(err)
		}
		return l.ID
	}
	one := put("t1", &bus.Envelope{ID: "1", Type: protocol.TypeWork, Queue: "agent.task.a", Reason: "no good"})
	two := put("t2", &bus.Envelope{ID: "2", Type: protocol.TypeWork, Reason: "from nowhere"})
	for _, request := range []string{"GET /api/v1/dead", "GET /api/v1/dead/" + string(one), "DELETE /api/v1/dead/" + string(one), "POST /api/v1/dead/" + string(one) + "/replay"} {
		got := as(t, h, clerk, request, "")
		got.failure(t, 403, "PERMISSION_DENIED", "UNAUTHORIZED")
	}
	list := func(query string, want ...queue.LetterID) string {
		t.Helper()
		var page adminapi.DeadList
		got := as(t, h, boss, "GET /api/v1/dead"+query, "")
		if err := json.Unmarshal([]byte(got.body), &page); err != nil || len(page.Letters) != len(want) {
			t.Fatalf("list %s = %d %s", query, got.code, got.body)
		}
		for i := range want {
			if page.Letters[i].ID != want[i] {
				t.Errorf("list %s = %s, want %s in place %d", query, got.body, want[i], i)
			}
		}
		return page.NextPageToken
	}
	list("", two, one)
	list("?queue=agent.task.a", one)
	list("?pageSize=1&pageToken="+list("?pageSize=1", two), one)
	for _, query := range []string{"?pageSize=0", "?pageToken=gone"} {
		got := as(t, h, boss, "GET /api/v1/dead"+query, "")
		got.failure(t, 400, "INVALID_ARGUMENT", "INVALID_PARAMS")
	}
	var l queue.Letter
	got := as(t, h, boss, "GET /api/v1/dead/"+string(one), "")
	if err := json.Unmarshal([]byte(got.body), &l); err != nil || l.Envelope == nil || l.Reason != "no good" {
		t.Errorf("letter = %d %s", got.code, got.body)
	}
	got = as(t, h, boss, "POST /api/v1/dead/"+string(two)+"/replay", "")
	got.failure(t, 409, "FAILED_PRECONDITION", "NOT_POSSIBLE")
	if got = as(t, h, boss, "POST /api/v1/dead/"+string(one)+"/replay", ""); got.code != 200 {
		t.Errorf("replay = %d %s", got.code, got.body)
	}
	if d, err := b.Depth(t.Context(), bus.Queue("agent.task.a")); err != nil || d.Ready != 1 {
		t.Errorf("after the replay the queue holds %+v, %v", d, err)
	}
	if got = as(t, h, boss, "DELETE /api/v1/dead/"+string(two), ""); got.code != 200 {
		t.Errorf("drop = %d %s", got.code, got.body)
	}
	list("")
	for _, request := range []string{"GET /api/v1/dead/" + string(one), "POST /api/v1/dead/none/replay", "DELETE /api/v1/dead/none"} {
		got := as(t, h, boss, request, "")
		got.failure(t, 404, "NOT_FOUND", "LETTER_NOT_FOUND")
	}
}
