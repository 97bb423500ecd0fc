package engine_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2asrv"

	"github.com/parley-a2a/parley/agent"
	"github.com/parley-a2a/parley/internal/engine"
	"github.com/parley-a2a/parley/internal/limits"
	"github.com/parley-a2a/parley/internal/op"
	"github.com/parley-a2a/parley/internal/store/memstore"
	"github.com/parley-a2a/parley/internal/task"
)

func resumable(x a2asrv.AgentExecutor) a2asrv.AgentExecutor {
	return agent.With(x, agent.Traits{AfterCrash: agent.Resume, NoMessage: true})
}

// counter yields numbers from its checkpoint up to ten, and blocks for good at the number stop.
// It sends the call of each execution to received.
func counter(stop int, began chan<- context.Context, received chan<- *agent.Call) *executor {
	return &executor{run: func(ctx context.Context, ec *a2asrv.ExecutorContext, yield func(a2a.Event, error) bool) {
		c := agent.CallFrom(ctx)
		received <- c
		n := 0
		_, _ = fmt.Sscan(string(c.Saved), &n)
		for n++; n <= 10; n++ {
			if n == stop {
				_ = agent.CallFrom(ctx).Flush(ctx)
				began <- ctx
				<-ctx.Done()
				return
			}
			_ = agent.CallFrom(ctx).Checkpoint([]byte(fmt.Sprint(n)))
			if !yield(chunk(ec, fmt.Sprint(n, " "), n < 10), nil) {
				return
			}
		}
		yield(status(ec, a2a.TaskStateCompleted, ""), nil)
	}}
}

// TestResumableRunContinues interrupts a run five times, and its caller sees one log.
func TestResumableRunContinues(t *testing.T) {
	t.Parallel()
	store, began, received := new(memstore.Store), make(chan context.Context, 1), make(chan *agent.Call, 1)
	b := start(t, engine.Config{Store: store, Limits: limits.Limits{DrainTimeout: -1}}, resumable(counter(2, began, received)))
	id := b.send(now(text("count"))).Head.ID
	<-began
	if c := <-received; c.Saved != nil || c.Task != nil || c.Attempt != 1 {
		t.Errorf("the first execution is given %q and %s", c.Saved, c.Task)
	}
	if err := b.stop(); err != nil {
		t.Fatal(err)
	}
	for stop := 3; stop <= 7; stop++ {
		b = start(t, engine.Config{Store: store, Limits: limits.Limits{DrainTimeout: -1}}, resumable(counter(stop, began, received)))
		<-began
		c := <-received
		if want := fmt.Sprint(stop - 2); string(c.Saved) != want || c.Attempt != stop-1 || c.Key != string(id)+"/1" {
			t.Errorf("attempt %d of %s continues from %q, want attempt %d from %q", c.Attempt, c.Key, c.Saved, stop-1, want)
		}
		if want := fmt.Sprintf(`%d "}]`, stop-2); !strings.Contains(string(c.Task), want) {
			t.Errorf("the execution is given the task %s, want one with %s", c.Task, want)
		}
		b.stop()
	}
	b = start(t, engine.Config{Store: store}, resumable(counter(0, began, received)))
	<-received
	b.wait(id, task.Completed)
	s, err := b.Subscribe(t.Context(), alice, &op.Subscribe{ID: id, LastEventID: "1"})
	if err != nil {
		t.Fatal(err)
	}
	var log strings.Builder
	for i, ev := range follow(t, s) {
		if ev.Version != int64(i+2) {
			t.Errorf("event %d has version %d", i, ev.Version)
		}
		if ev.Kind == task.Artifact {
			_, rest, _ := strings.Cut(string(ev.Body), `"text":"`)
			word, _, _ := strings.Cut(rest, `"`)
			log.WriteString(word)
		}
	}
	if want := "1 2 3 4 5 6 7 8 9 10 "; log.String() != want {
		t.Errorf("the log contains %q, want %q", log.String(), want)
	}
}

// TestCheckpointIsAsDurableAsItsEvent keeps the queue of a run from being written. It then
// allows one flush between a checkpoint and its event.
func TestCheckpointIsAsDurableAsItsEvent(t *testing.T) {
	t.Parallel()
	store := new(memstore.Store)
	saved := func(key task.Key) string {
		got, err := store.Sidecar(t.Context(), key, task.SidecarCheckpoint)
		if err != nil {
			t.Fatal(err)
		}
		return string(got)
	}
	steps, next := make(chan string), make(chan struct{})
	x := &executor{run: func(ctx context.Context, ec *a2asrv.ExecutorContext, yield func(a2a.Event, error) bool) {
		step := func(name string) { steps <- name; <-next }
		yield(chunk(ec, "a", true), nil)
		_ = agent.CallFrom(ctx).Checkpoint([]byte("b"))
		step("b is noted")
		yield(chunk(ec, "b", true), nil)
		_ = agent.CallFrom(ctx).Flush(ctx)
		step("b is stored")
		_ = agent.CallFrom(ctx).Checkpoint([]byte("c"))
		_ = agent.CallFrom(ctx).Flush(ctx)
		step("c is flushed")
		_ = agent.CallFrom(ctx).Checkpoint([]byte("d"))
		yield(&a2a.Task{ID: ec.TaskID, ContextID: ec.ContextID, Status: a2a.TaskStatus{State: a2a.TaskStateSubmitted}}, nil)
		_ = agent.CallFrom(ctx).Flush(ctx)
		step("d changes nothing")
		_ = agent.CallFrom(ctx).Checkpoint([]byte("e"))
		yield(status(ec, a2a.TaskStateCompleted, ""), nil)
	}}
	b := start(t, engine.Config{Store: store}, resumable(x))
	h := b.send(now(text("hi"))).Head
	for _, want := range []struct{ step, saved string }{
		{"b is noted", ""}, {"b is stored", "b"}, {"c is flushed", "c"}, {"d changes nothing", "d"},
	} {
		if got := <-steps; got != want.step {
			t.Fatalf("step %q, want %q", got, want.step)
		}
		if got := saved(h.Key); got != want.saved {
			t.Errorf("when %s, the checkpoint is %q, want %q", want.step, got, want.saved)
		}
		next <- struct{}{}
	}
	b.wait(h.ID, task.Completed)
	if got := saved(h.Key); got != "e" {
		t.Errorf("with the end of the task, the checkpoint is %q, want e", got)
	}
}

// TestCheckpointAloneIsStoredSoon: no event follows the checkpoint, and Flush is not called.
func TestCheckpointAloneIsStoredSoon(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := new(counting)
		x := &executor{run: func(ctx context.Context, ec *a2asrv.ExecutorContext, yield func(a2a.Event, error) bool) {
			for _, blob := range []string{"one", "two"} {
				_ = agent.CallFrom(ctx).Checkpoint([]byte(blob))
				yield(&a2a.Task{ID: ec.TaskID, Status: a2a.TaskStatus{State: a2a.TaskStateSubmitted}}, nil)
			}
			<-ctx.Done()
		}}
		b := start(t, engine.Config{Store: store, Limits: limits.Limits{DrainTimeout: -1}}, resumable(x))
		h := b.send(now(text("hi"))).Head
		time.Sleep(time.Second)
		synctest.Wait()
		if got, err := store.Sidecar(t.Context(), h.Key, task.SidecarCheckpoint); string(got) != "two" || err != nil {
			t.Errorf("Checkpoint = %q, %v, want two", got, err)
		}
		if got := store.appends.Load(); got != 2 {
			t.Errorf("%d appends, want one for the task and one for the checkpoint", got)
		}
		b.stop()
	})
}

// TestCheckpointOfOthersIsNone: only agents that resume have checkpoints.
func TestCheckpointOfOthersIsNone(t *testing.T) {
	t.Parallel()
	store := new(memstore.Store)
	x := &executor{run: func(ctx context.Context, ec *a2asrv.ExecutorContext, yield func(a2a.Event, error) bool) {
		_ = agent.CallFrom(ctx).Checkpoint([]byte("x"))
		yield(status(ec, a2a.TaskStateInputRequired, ""), nil)
	}}
	b := start(t, engine.Config{Store: store}, x)
	h := b.send(text("hi")).Head
	if got, err := store.Sidecar(t.Context(), h.Key, task.SidecarCheckpoint); got != nil || err != nil {
		t.Errorf("Checkpoint = %q, %v, want none", got, err)
	}
}

// TestCheckpointOfAnEndedTask: only a checkpoint that comes with the event that ends the task is
// kept.
func TestCheckpointOfAnEndedTask(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ working, end, want string }{
		"with the last event":     {"", "end", "end"},
		"with an earlier event":   {"working", "", ""},
		"with each of the events": {"working", "end", "end"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				store := new(memstore.Store)
				x := &executor{run: func(ctx context.Context, ec *a2asrv.ExecutorContext, yield func(a2a.Event, error) bool) {
					for _, s := range []struct {
						saved string
						state a2a.TaskState
					}{{tt.working, a2a.TaskStateWorking}, {tt.end, a2a.TaskStateCompleted}} {
						if err := agent.CallFrom(ctx).Checkpoint([]byte(s.saved)); err != nil {
							t.Error(err)
						}
						if !yield(status(ec, s.state, ""), nil) {
							return
						}
					}
				}}
				b := start(t, engine.Config{Store: store}, resumable(x))
				h := b.send(text("hi")).Head
				if got, err := store.Sidecar(t.Context(), h.Key, task.SidecarCheckpoint); string(got) != tt.want || err != nil {
					t.Errorf("Sidecar = %q, %v, want %q", got, err, tt.want)
				}
				b.stop()
			})
		})
	}
}

// TestFollowUpContinuesFromTheCheckpoint answers a question; the next run gets the checkpoint of
// the one before.
func TestFollowUpContinuesFromTheCheckpoint(t *testing.T) {
	t.Parallel()
	x := &executor{run: func(ctx context.Context, ec *a2asrv.ExecutorContext, yield func(a2a.Event, error) bool) {
		saved := string(agent.CallFrom(ctx).Saved)
		if saved == "" {
			_ = agent.CallFrom(ctx).Checkpoint([]byte("asked"))
			yield(status(ec, a2a.TaskStateInputRequired, "which?"), nil)
			return
		}
		yield(status(ec, a2a.TaskStateCompleted, saved), nil)
	}}
	b := start(t, engine.Config{}, resumable(x))
	h := b.send(text("hi")).Head
	if got := statusText(t, b.send(reply(h.ID, "this"))); got != "asked" {
		t.Errorf("the follow-up went on from %q, want the checkpoint", got)
	}
}

// TestPendingCancelReachesResumableAgent kills a hub before the agent has received a cancel
// request. The next hub passes on the request, and does not run the agent again.
func TestPendingCancelReachesResumableAgent(t *testing.T) {
	t.Parallel()
	refuse := func(_ context.Context, _ *a2asrv.ExecutorContext, yield func(a2a.Event, error) bool) {
		yield(nil, a2a.ErrTaskNotCancelable)
	}
	for name, tt := range map[string]struct {
		refuses bool
		want    task.State
	}{"agrees": {false, task.Canceled}, "refuses": {true, task.Completed}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			store, began, received := new(memstore.Store), make(chan context.Context, 1), make(chan *agent.Call, 3)
			id := stopped(t, store, resumable(counter(4, began, received)), began)
			<-received
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
			canceled := make(chan string, 1)
			x := counter(0, began, received)
			x.cancel = func(ctx context.Context, ec *a2asrv.ExecutorContext, yield func(a2a.Event, error) bool) {
				canceled <- fmt.Sprintf("%s %s %s", ec.TaskID, ec.User.Name, agent.CallFrom(ctx).Saved)
				if tt.refuses {
					refuse(ctx, ec, yield)
					return
				}
				yield(status(ec, a2a.TaskStateCanceled, ""), nil)
			}
			b := start(t, engine.Config{Store: store}, resumable(x))
			b.wait(id, tt.want)
			if got, want := <-canceled, string(id)+" alice 3"; got != want {
				t.Errorf("the agent got the cancel request %q, want %q", got, want)
			}
			if got := len(received) > 0; got != tt.refuses {
				t.Errorf("the agent was run again: %v, want %v", got, tt.refuses)
			}
		})
	}
}

// TestMessageWaiting lets a run wait in AUTH_REQUIRED until its caller sends a
// message.
func TestMessageWaiting(t *testing.T) {
	t.Parallel()
	x := &executor{run: func(ctx context.Context, ec *a2asrv.ExecutorContext, yield func(a2a.Event, error) bool) {
		if ec.Message.Parts[0].Text() == "token" {
			yield(status(ec, a2a.TaskStateCompleted, "thanks"), nil)
			return
		}
		yield(status(ec, a2a.TaskStateAuthRequired, "who are you?"), nil)
		select {
		case <-agent.CallFrom(ctx).MessageWaiting():
		case <-ctx.Done():
		}
	}}
	b := start(t, engine.Config{Limits: limits.Limits{DrainTimeout: -1}}, resumable(x))
	h := b.send(text("hi")).Head
	if h.State != task.AuthRequired {
		t.Fatalf("task is %v, want AUTH_REQUIRED", h.State)
	}
	if got := statusText(t, b.send(reply(h.ID, "token"))); got != "thanks" {
		t.Errorf("the answer to the token is %q", got)
	}
}
