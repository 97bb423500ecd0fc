package adminapi_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/internal/adminjson"
	"github.com/parley-a2a/parley/internal/engine"
	"github.com/parley-a2a/parley/internal/store/memstore"
	"github.com/parley-a2a/parley/internal/task"
	"github.com/parley-a2a/parley/internal/testing/suite/tasktest"
)

// countedStore records the reads of entries.
type countedStore struct {
	*memstore.Store
	excerpts []int // the positions of each call
	reads    int
}

func (s *countedStore) Excerpts(ctx context.Context, at []task.Position, most int) ([]task.Entry, error) {
	s.excerpts = append(s.excerpts, len(at))
	return s.Store.Excerpts(ctx, at, most)
}

func (s *countedStore) Read(ctx context.Context, key task.Key, after int64) ([]task.Entry, error) {
	s.reads++
	return s.Store.Read(ctx, key, after)
}

// TestTraceOfTasks checks that administrators get the address of a task's trace, and no other caller.
func TestTraceOfTasks(t *testing.T) {
	t.Parallel()
	h, _, _ := keyed(t)
	s := new(memstore.Store)
	e := engine.New(engine.Config{Store: s})
	h.Hub, h.Logs, h.Reader, h.Excerpts, h.TraceURL = e, e, e, s, "https://traces.example/trace/{trace_id}?of={trace_id}"
	add := func(owner task.Owner, id, call string) {
		created := tasktest.Created(tasktest.At(0), "x")
		created.Call = []byte(call)
		tasktest.Append(t, s, tasktest.NewHead(owner, a2a.TaskID(id)), created)
	}
	const id = "4bf92f3577b34da6a3ce929d0e0e4736"
	traced := `{"params":{"traceparent":["00-` + id + `-00f067aa0ba902b7-01"]}}`
	add(task.Owner(boss.Owner()), "traced", traced)
	add(task.Owner(clerk.Owner()), "clerks", traced)
	add(task.Owner(boss.Owner()), "plain", "")
	add(task.Owner(boss.Owner()), "wrong", `{"params":{"traceparent":["https://evil.example"]}}`)
	link := `"traceUrl":"https://traces.example/trace/` + id + `?of=` + id + `"`
	for _, path := range []string{"/tasks/traced", "/tasks/traced/log", "/tasks"} {
		if got := as(t, h, boss, "GET /api/v1"+path, ""); got.code != 200 || strings.Count(got.body, link) != 1 {
			t.Errorf("%s = %d %s, want the address of the trace", path, got.code, got.body)
		}
	}
	for _, path := range []string{"/tasks/plain", "/tasks/wrong"} {
		if got := as(t, h, boss, "GET /api/v1"+path, ""); got.code != 200 || strings.Contains(got.body, "traceUrl") {
			t.Errorf("%s = %d %s, want no trace", path, got.code, got.body)
		}
	}
	for _, path := range []string{"/tasks/clerks", "/tasks/clerks/log", "/tasks"} {
		if got := as(t, h, clerk, "GET /api/v1"+path, ""); got.code != 200 || strings.Contains(got.body, "traceUrl") {
			t.Errorf("%s of a caller without a role = %d %s", path, got.code, got.body)
		}
	}
}

// TestWordsOfTasks checks the first words in lists and in single tasks, that a caller reads those of no other
// one, and that a page costs one read.
func TestWordsOfTasks(t *testing.T) {
	t.Parallel()
	h, _, _ := keyed(t)
	s := &countedStore{Store: new(memstore.Store)}
	e := engine.New(engine.Config{Store: s})
	h.Hub, h.Logs, h.Reader, h.Excerpts = e, e, e, s
	add := func(owner task.Owner, id string, es ...task.Entry) {
		head := tasktest.Append(t, s, tasktest.NewHead(owner, a2a.TaskID(id)), es...)
		tasktest.Alter(t, s, head, func(h *task.Head) { h.Consumed = h.LastMessage }) // the agent has read it
	}
	status := func(state task.State, text string) task.Entry { return tasktest.Status(tasktest.At(2), state, text) }
	plain := func(state task.State) task.Entry {
		e := status(state, "x")
		e.Body = nil
		return e
	}
	whole := tasktest.Chunk(tasktest.At(1), "a", "the whole answer")
	whole.Append = false
	part := tasktest.Chunk(tasktest.At(1), "a", ", in two")
	part.Append = true
	file := tasktest.Created(tasktest.At(0), "x")
	file.Body = []byte(`{"messageId":"m","role":"ROLE_USER","parts":[{"data":{}},{"raw":"AA==","filename":"plan\nB.pdf"}]}`)
	mine := task.Owner(clerk.Owner())
	add(mine, "lines", tasktest.Created(tasktest.At(0), "  two \n\t lines "), status(task.Completed, "done:\nall"))
	add(mine, "long", tasktest.Created(tasktest.At(0), strings.Repeat("äb ", 100)), status(task.InputRequired, "which one?"))
	add(mine, "large", tasktest.Created(tasktest.At(0), strings.Repeat("x", 100<<10)), status(task.Failed, "too large"))
	add(mine, "working", tasktest.Created(tasktest.At(0), "wait"), status(task.Working, "step 1"))
	add(mine, "artifact", tasktest.Created(tasktest.At(0), "draw"), whole, plain(task.Completed))
	add(mine, "chunks", tasktest.Created(tasktest.At(0), "talk"), whole, part, plain(task.Completed))
	add(mine, "late", append(append([]task.Entry{tasktest.Created(tasktest.At(0), "hurry")}, slices.Repeat([]task.Entry{status(task.Working, "a step")}, 20)...), whole, plain(task.Completed))...)
	add(mine, "file", file, plain(task.Canceled))
	add("bob", "foreign", tasktest.Created(tasktest.At(0), "a secret of bob"), status(task.Completed, "a secret answer"))
	want := map[string][2]string{
		"lines": {"two lines", "done: all"}, "long": {strings.Repeat("äb ", 26) + "ä…", "which one?"}, "large": {"", "too large"},
		"working": {"wait", ""}, "artifact": {"draw", "the whole answer"}, "chunks": {"talk", "the whole answer, in two"}, "file": {"plan B.pdf", ""}, "late": {"hurry", "the whole answer"},
	}
	for i := range 42 {
		id := fmt.Sprint("t", i)
		add(mine, id, tasktest.Created(tasktest.At(0), "message "+id), plain(task.Completed))
		want[id] = [2]string{"message " + id, ""}
	}
	s.reads = 0
	var list adminjson.TaskList
	got := as(t, h, clerk, "GET /api/v1/tasks", "")
	if err := json.Unmarshal([]byte(got.body), &list); err != nil || len(list.Tasks) != len(want) {
		t.Fatalf("the list has %d tasks, %v, want %d", len(list.Tasks), err, len(want))
	}
	for i := range list.Tasks {
		info := &list.Tasks[i]
		if w := want[string(info.TaskID)]; info.Message != w[0] || info.Answer != w[1] {
			t.Errorf("task %s: %q, %q, want %q", info.TaskID, info.Message, info.Answer, w)
		}
	}
	if len(s.excerpts) != 1 || s.excerpts[0] > 4*len(want) || s.reads != 0 {
		t.Errorf("a page of %d tasks costs reads of %d positions and %d of logs", len(want), s.excerpts, s.reads)
	}
	for request, words := range map[string]bool{"GET /api/v1/tasks/lines": false, "GET /api/v1/tasks?agent=nobody": false, "GET /api/v1/tasks/foreign": false} {
		if got := as(t, h, clerk, request, ""); strings.Contains(got.body, `"message":"two lines"`) != words || strings.Contains(got.body, "secret") {
			t.Errorf("%s = %s", request, got.body)
		}
	}
	if got := as(t, h, boss, "GET /api/v1/tasks?scope=all&owner=bob", ""); !strings.Contains(got.body, `"message":"a secret of bob","answer":"a secret answer"`) {
		t.Errorf("the list of an administrator = %s", got.body)
	}
}
