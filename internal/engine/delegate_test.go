package engine_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2asrv"

	"github.com/parley-a2a/parley/agent"
	"github.com/parley-a2a/parley/internal/engine"
	"github.com/parley-a2a/parley/internal/limits"
	"github.com/parley-a2a/parley/internal/op"
	"github.com/parley-a2a/parley/internal/store/memstore"
	"github.com/parley-a2a/parley/internal/task"
)

// asks returns an executor that passes its message to another agent, and completes with the
// answer.
func asks(other task.Agent, key string, received chan<- *agent.Delegated) *executor {
	return &executor{run: func(ctx context.Context, ec *a2asrv.ExecutorContext, yield func(a2a.Event, error) bool) {
		got, err := agent.CallFrom(ctx).Delegate(ctx, &agent.Delegation{Agent: other, Key: key, Message: ec.Message})
		if err != nil {
			if ctx.Err() == nil {
				yield(status(ec, a2a.TaskStateFailed, err.Error()), nil)
			}
			return
		}
		if received != nil {
			received <- got
		}
		yield(status(ec, a2a.TaskStateCompleted, got.Text), nil)
	}}
}

// tasksOf returns the caller's tasks of an agent.
func (b *bench) tasksOf(name task.Agent) []op.Answer {
	b.t.Helper()
	page, err := b.List(b.t.Context(), alice, &op.List{Target: op.Target{Agent: name}, PageSize: 100})
	if err != nil {
		b.t.Fatal(err)
	}
	return page.Tasks
}

// startTwo starts an engine with the agents main and other on the store of an earlier one.
func startTwo(t *testing.T, store task.Store, first, second a2asrv.AgentExecutor) *bench {
	t.Helper()
	b := &bench{Engine: engine.New(engine.Config{Store: store, Limits: limits.Limits{DrainTimeout: -1}}), t: t, store: store, done: make(chan error, 1)}
	b.register("main", first)
	b.register("other", second)
	ctx, cancel := context.WithCancel(context.Background())
	b.cancel = cancel
	go func() { b.done <- b.Run(ctx) }()
	t.Cleanup(func() { b.stop() })
	<-b.Recovered()
	return b
}

func TestDelegate(t *testing.T) {
	t.Parallel()
	store, received := new(memstore.Store), make(chan *agent.Delegated, 1)
	b := start(t, engine.Config{Store: store}, asks("other", "", received))
	b.register("other", words("one ", "two"))
	a := b.send(text("hi"))
	if got := statusText(t, a); got != "one two" {
		t.Errorf("the answer is %q", got)
	}
	got, child := <-received, b.tasksOf("other")[0].Head
	if got.TaskID != child.ID || got.State != task.Completed || !strings.Contains(string(got.JSON), `"text":"one two"`) {
		t.Errorf("delegated %+v with %s, the task is %s", got, got.JSON, child.ID)
	}
	if child.ContextID != a.Head.ContextID || child.Owner != "alice" {
		t.Errorf("the child is in context %s of %s, want that of its parent", child.ContextID, child.Owner)
	}
	line, err := task.LineageOf(t.Context(), store, child.Key)
	if want := (task.Lineage{Parent: a.Head.Key, Root: a.Head.Key, Hops: 1}); err != nil || line != want {
		t.Errorf("Lineage = %+v, %v, want %+v", line, err, want)
	}
}

func TestDelegatedMessage(t *testing.T) {
	t.Parallel()
	received := make(chan *agent.Delegated, 1)
	b := start(t, engine.Config{}, asks("other", "", received))
	b.register("other", agent.Func(func(_ context.Context, _ *a2asrv.ExecutorContext, yield func(a2a.Event, error) bool) {
		yield(a2a.NewMessage(a2a.MessageRoleAgent, a2a.NewTextPart("hello")), nil)
	}))
	if got := statusText(t, b.send(text("hi"))); got != "hello" {
		t.Errorf("the answer is %q", got)
	}
	if got := <-received; got.TaskID != "" || got.State != task.Completed {
		t.Errorf("delegated %+v, want a message", got)
	}
}

// TestDelegationContinues answers the question of a child.
func TestDelegationContinues(t *testing.T) {
	t.Parallel()
	b := start(t, engine.Config{}, &executor{run: func(ctx context.Context, ec *a2asrv.ExecutorContext, yield func(a2a.Event, error) bool) {
		got, err := agent.CallFrom(ctx).Delegate(ctx, &agent.Delegation{Agent: "other", Message: ec.Message})
		if err == nil && got.State == task.InputRequired {
			m := a2a.NewMessage(a2a.MessageRoleUser, a2a.NewTextPart("b"))
			got, err = agent.CallFrom(ctx).Delegate(ctx, &agent.Delegation{Agent: "other", TaskID: got.TaskID, Message: m})
		}
		yield(status(ec, a2a.TaskStateCompleted, fmt.Sprint(got.State, err)), nil)
	}})
	b.register("other", asking())
	if got, want := statusText(t, b.send(text("hi"))), "TASK_STATE_COMPLETED <nil>"; got != want {
		t.Errorf("the child ended as %q, want %q", got, want)
	}
}

func TestDelegationThatFails(t *testing.T) {
	t.Parallel()
	b := start(t, engine.Config{}, asks("unknown", "", nil))
	if got := statusText(t, b.send(text("hi"))); !strings.Contains(got, "unknown") {
		t.Errorf("the answer is %q", got)
	}
	if _, err := agent.CallFrom(t.Context()).Delegate(t.Context(), &agent.Delegation{}); !errors.Is(err, agent.ErrNoDelegation) {
		t.Errorf("Delegate outside a hub = %v, want ErrNoDelegation", err)
	}
}

// TestDelegationWithAKeyHappensOnce interrupts a parent that waits for its child. The next
// execution joins the child.
func TestDelegationWithAKeyHappensOnce(t *testing.T) {
	t.Parallel()
	store, began := new(memstore.Store), make(chan context.Context, 2)
	b := start(t, engine.Config{Store: store, Limits: limits.Limits{DrainTimeout: -1}}, idempotent(asks("other", "k", nil)))
	b.register("other", idempotent(untilStopped(began)))
	id := b.send(now(text("hi"))).Head.ID
	<-began
	b.stop()
	b = startTwo(t, store, idempotent(asks("other", "k", nil)), idempotent(words("again")))
	b.wait(id, task.Completed)
	if got := statusText(t, b.get(id)); got != "again" {
		t.Errorf("the answer is %q", got)
	}
	if got := len(b.tasksOf("other")); got != 1 {
		t.Errorf("%d children, want 1", got)
	}
}

func TestCancelReachesChildren(t *testing.T) {
	t.Parallel()
	var canceled atomic.Int32
	began := make(chan context.Context, 1)
	b := start(t, engine.Config{Limits: limits.Limits{DrainTimeout: -1}}, asks("middle", "", nil))
	b.register("middle", asks("last", "", nil))
	last := untilStopped(began)
	last.cancel = func(_ context.Context, ec *a2asrv.ExecutorContext, yield func(a2a.Event, error) bool) {
		canceled.Add(1)
		yield(status(ec, a2a.TaskStateCanceled, ""), nil)
	}
	b.register("last", last)
	id := b.send(now(text("hi"))).Head.ID
	ctx := <-began
	if _, err := b.Cancel(t.Context(), alice, &op.Cancel{ID: id}); err != nil {
		t.Fatal(err)
	}
	<-ctx.Done()
	for _, name := range []task.Agent{"middle", "last"} {
		h := b.tasksOf(name)[0].Head
		if h.State != task.Canceled {
			b.wait(h.ID, task.Canceled)
		}
	}
	if canceled.Load() != 1 {
		t.Errorf("the last agent got %d cancel requests", canceled.Load())
	}
}

// gatedStore is a store in memory that holds back a commit of each task whose cancellation is
// requested.
type gatedStore struct {
	memstore.Store

	gates sync.Map // of task.Agent to chan struct{}, which is closed to commit
}

func (s *gatedStore) Append(ctx context.Context, c *task.Change) error {
	if gate, ok := s.gates.Load(c.Next.Agent); ok && c.Prev.CancelAt == 0 && c.Next.CancelAt != 0 {
		<-gate.(chan struct{})
	}
	return s.Store.Append(ctx, c)
}

// An agent that ends its task when a child is canceled does not get ahead of the cancellation
// that has canceled the child.
func TestCancelIsNotOvertakenByAChild(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store, first, second, gate := new(gatedStore), make(chan context.Context), make(chan context.Context), make(chan struct{})
		store.gates.Store(task.Agent("second"), gate)
		var side sync.WaitGroup
		b := start(t, engine.Config{Store: store, Limits: limits.Limits{DrainTimeout: -1}}, &executor{run: func(ctx context.Context, ec *a2asrv.ExecutorContext, yield func(a2a.Event, error) bool) {
			side.Go(func() {
				<-first
				_, _ = agent.CallFrom(ctx).Delegate(ctx, &agent.Delegation{Agent: "second", Message: ec.Message})
			})
			got, err := agent.CallFrom(ctx).Delegate(ctx, &agent.Delegation{Agent: "first", Message: ec.Message})
			if err == nil {
				yield(status(ec, a2a.TaskStateFailed, got.State.Word()), nil)
			}
		}})
		b.register("first", untilStopped(first))
		b.register("second", untilStopped(second))
		id := b.send(now(text("hi"))).Head.ID
		<-second
		canceled := make(chan error)
		go func() {
			_, err := b.Cancel(t.Context(), alice, &op.Cancel{ID: id})
			canceled <- err
		}()
		synctest.Wait()
		if child := b.tasksOf("first")[0].Head; child.State != task.Canceled {
			t.Errorf("the first child is %s, want canceled", child.State)
		}
		close(gate)
		if err := <-canceled; err != nil {
			t.Errorf("Cancel = %v", err)
		}
		if got := b.get(id).Head.State; got != task.Canceled {
			t.Errorf("the task is %s, want canceled", got)
		}
		side.Wait()
	})
}

// TestPendingCancelReachesChildren leaves behind a cancel request that the hub has not carried
// out.
func TestPendingCancelReachesChildren(t *testing.T) {
	t.Parallel()
	store, began := new(memstore.Store), make(chan context.Context, 1)
	b := start(t, engine.Config{Store: store, Limits: limits.Limits{DrainTimeout: -1}}, asks("other", "", nil))
	b.register("other", idempotent(untilStopped(began)))
	id := b.send(now(text("hi"))).Head.ID
	<-began
	b.stop()
	h, err := store.Head(t.Context(), "alice", id)
	if err != nil {
		t.Fatal(err)
	}
	next := h
	next.Rev++
	next.CancelAt = 1
	if err := store.Append(t.Context(), &task.Change{Prev: h, Next: next}); err != nil {
		t.Fatal(err)
	}
	b = startTwo(t, store, asks("other", "", nil), idempotent(untilStopped(began)))
	if got := b.get(id).Head.State; got != task.Canceled {
		b.wait(id, task.Canceled)
	}
	if child := b.tasksOf("other")[0].Head; child.State != task.Canceled {
		b.wait(child.ID, task.Canceled)
	}
}

// TestFollowUpWithAKeyHappensOnce interrupts a parent whose child is processing its second
// message. The next execution finds the child in that state, waits for the outcome of that
// message, and does not send it again.
func TestFollowUpWithAKeyHappensOnce(t *testing.T) {
	t.Parallel()
	store, began := new(memstore.Store), make(chan context.Context, 2)
	parent := idempotent(&executor{run: func(ctx context.Context, ec *a2asrv.ExecutorContext, yield func(a2a.Event, error) bool) {
		var text string
		var id a2a.TaskID
		for _, key := range []string{"first", "second", "second", "third"} {
			got, err := agent.CallFrom(ctx).Delegate(ctx, &agent.Delegation{Agent: "other", Key: key, TaskID: id, Message: ec.Message})
			if err != nil {
				if ctx.Err() == nil {
					yield(status(ec, a2a.TaskStateFailed, err.Error()), nil)
				}
				return
			}
			id, text = got.TaskID, text+got.Text+" "
		}
		yield(status(ec, a2a.TaskStateCompleted, text), nil)
	}})
	child := func(stop bool) a2asrv.AgentExecutor {
		return idempotent(&executor{run: func(ctx context.Context, ec *a2asrv.ExecutorContext, yield func(a2a.Event, error) bool) {
			n := 1
			if ec.StoredTask != nil {
				for _, m := range ec.StoredTask.History {
					if m.Role == a2a.MessageRoleUser {
						n++
					}
				}
				n-- // the present message is included
			}
			switch {
			case n == 2 && stop:
				began <- ctx
				<-ctx.Done()
			case n == 3:
				yield(status(ec, a2a.TaskStateCompleted, "received 3"), nil)
			default:
				yield(status(ec, a2a.TaskStateInputRequired, fmt.Sprint("received ", n)), nil)
			}
		}})
	}
	b := startTwo(t, store, parent, child(true))
	id := b.send(now(text("hi"))).Head.ID
	<-began
	b.stop()
	b = startTwo(t, store, parent, child(false))
	b.wait(id, task.Completed)
	// The first message is answered with the child's output so far, before or after the child
	// has read the second message again.
	const rest = "received 2 received 2 received 3 "
	if got := statusText(t, b.get(id)); got != "received 1 "+rest && got != "received 2 "+rest {
		t.Errorf("the parent received %q, want %q after the first output of the child", got, rest)
	}
	if got := len(b.tasksOf("other")); got != 1 {
		t.Errorf("%d children, want one", got)
	}
}
