package model_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2asrv"

	"github.com/parley-a2a/parley/agent"
	"github.com/parley-a2a/parley/internal/agents/model"
	"github.com/parley-a2a/parley/internal/llm"
	"github.com/parley-a2a/parley/internal/op"
	"github.com/parley-a2a/parley/internal/store/memstore"
	"github.com/parley-a2a/parley/internal/task"
)

// killableStore is a store that fails after a number of changes, as if the process were killed.
type killableStore struct {
	*memstore.Store
	left atomic.Int64
	dead chan struct{}
}

func newKillableStore(on *memstore.Store, left int64) *killableStore {
	m := &killableStore{Store: on, dead: make(chan struct{})}
	m.left.Store(left)
	return m
}

func (m *killableStore) Append(ctx context.Context, c *task.Change) error {
	switch left := m.left.Add(-1); {
	case left == -1:
		close(m.dead)
		return task.ErrUnavailable
	case left < 0:
		return task.ErrUnavailable
	}
	return m.Store.Append(ctx, c)
}

// team is a planner with two delegates, of which one asks back, and two tools. It counts the
// actions of each, over all processes of the hub.
type team struct {
	mu  sync.Mutex
	did map[string]int
}

func (w *team) count(what string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.did == nil {
		w.did = make(map[string]int)
	}
	w.did[what]++
}

// agents returns the agents for one process of the hub, in a bubble.
func (w *team) agents(t testing.TB) agents {
	a := scriptedAgent(t, `
turns:
  - when: {role: user, turn: 0}
    text: First I ask the others.
    calls:
      - {name: agent_run_north, arguments: {prompt: the north}}
      - {name: agent_run_clerk, arguments: {prompt: a table}}
      - {name: look, arguments: {}}
      - {name: pay, arguments: {amount: 1}}
  - when: {role: tool, turn: 1}
    text: And once more.
    calls:
      - {name: agent_run_north, arguments: {prompt: the north again}}
      - {name: set, arguments: {}}
  - when: {role: tool, turn: 2}
    text: Now it is all done.
`)
	a.Delegates = []model.Delegate{{ID: "north"}, {ID: "clerk"}}
	tool := func(name string) llm.Tool {
		return llm.Tool{
			Name: name, ReadOnly: name == "look", Idempotent: name == "set",
			Call: func(context.Context, *llm.Call) (*llm.Result, error) {
				w.count(name)
				return textResult(name + " is done"), nil
			},
		}
	}
	a.Tools = toolset{tool("look"), tool("pay"), tool("set")}
	north := agent.With(agent.Func(func(ctx context.Context, ec *a2asrv.ExecutorContext, yield func(a2a.Event, error) bool) {
		w.count("north")
		yield(a2a.NewStatusUpdateEvent(ec, a2a.TaskStateWorking, nil), nil)
		time.Sleep(time.Second)
		if ctx.Err() == nil {
			yield(a2a.NewStatusUpdateEvent(ec, a2a.TaskStateCompleted, a2a.NewMessage(a2a.MessageRoleAgent, a2a.NewTextPart("rain"))), nil)
		}
	}), agent.Traits{AfterCrash: agent.Repeat})
	clerk := agent.With(agent.Func(func(_ context.Context, ec *a2asrv.ExecutorContext, yield func(a2a.Event, error) bool) {
		state, send := a2a.TaskStateInputRequired, "for how many?"
		if ec.StoredTask != nil {
			state, send = a2a.TaskStateCompleted, "a table for "+agent.Text(ec.Message)
			time.Sleep(time.Second)
		}
		yield(a2a.NewStatusUpdateEvent(ec, state, a2a.NewMessage(a2a.MessageRoleAgent, a2a.NewTextPart(send))), nil)
	}), agent.Traits{AfterCrash: agent.Resume})
	return agents{"main": a, "north": north, "clerk": clerk}
}

// TestKilledAnywhere kills a hub before each change of a task in which a model asks agents and
// calls tools. The next hub continues it. No action may be repeated.
func TestKilledAnywhere(t *testing.T) {
	t.Parallel()
	kills := 0
	for cut := int64(1); cut < 100; cut++ {
		killed := false
		synctest.Test(t, func(t *testing.T) {
			w, disk := new(team), new(memstore.Store)
			store := newKillableStore(disk, cut)
			h := start(t, store, w.agents(t))
			id := h.begin(text("go"))
			live(h, id)
			select {
			case <-store.dead:
				killed = true
				h.stop()
				h = start(t, disk, w.agents(t))
				live(h, id)
			default:
			}
			w.check(t, h, id, cut)
			h.stop()
		})
		if !killed || t.Failed() {
			break
		}
		kills++
	}
	if kills < 15 {
		t.Errorf("%d kills, want one before each change", kills)
	}
}

// live lets time pass, and answers the questions of the task.
func live(h *hub, id a2a.TaskID) {
	for range 5 {
		time.Sleep(5 * time.Second)
		synctest.Wait()
		a, err := h.Get(h.t.Context(), alice, &op.Get{ID: id})
		if err == nil && a.Head.State == task.InputRequired {
			r := reply(id, "seven")
			r.ReturnImmediately = true
			_, _ = h.Send(h.t.Context(), alice, r)
		}
	}
}

// check reports lost and repeated actions.
func (w *team) check(t *testing.T, h *hub, id a2a.TaskID, cut int64) {
	t.Helper()
	when := fmt.Sprintf("after a kill before change %d", cut+1)
	got := h.get(id)
	if status, answer := statusAndText(got); got.Status.State != a2a.TaskStateCompleted || status != "Now it is all done." || answer != status {
		t.Errorf("%s the task is %s, says %q and has the artifact %q", when, got.Status.State, status, answer)
	}
	if n := len(h.tasksOf("north")); n != 2 {
		t.Errorf("%s there are %d tasks of north, want 2", when, n)
	}
	all := h.tasksOf("clerk")
	if len(all) != 1 {
		t.Fatalf("%s there are %d tasks of the clerk, want 1", when, len(all))
	}
	child := h.get(all[0].Head.ID)
	if status, _ := statusAndText(child); child.Status.State != a2a.TaskStateCompleted || status != "a table for seven" {
		t.Errorf("%s the task of the clerk is %s, says %q", when, child.Status.State, status)
	}
	received := 0
	for _, m := range child.History {
		if m.Role == a2a.MessageRoleUser {
			received++
		}
	}
	if received != 2 {
		t.Errorf("%s the clerk has received %d messages, want 2", when, received)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.did["pay"] > 1 {
		t.Errorf("%s the tool with effects was called %d times", when, w.did["pay"])
	}
	for _, what := range []string{"look", "set"} {
		if n := w.did[what]; n < 1 || n > 2 {
			t.Errorf("%s the tool %s was called %d times", when, what, n)
		}
	}
}
