package engine_test

import (
	"context"
	"sync"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2asrv"
	"github.com/google/go-cmp/cmp"

	"github.com/parley-a2a/parley/internal/engine"
	"github.com/parley-a2a/parley/internal/op"
	"github.com/parley-a2a/parley/internal/store/memstore"
	"github.com/parley-a2a/parley/internal/task"
)

// shownAs is a caller's view of a task.
type shownAs struct {
	State    task.State
	Question string
	History  []string
}

func asShown(t *testing.T, a *engine.Answer) shownAs {
	t.Helper()
	got := shownAs{State: a.Head.State}
	whole := sdkTask(t, a)
	if m := whole.Status.Message; m != nil {
		got.Question = m.Parts[0].Text()
	}
	for _, m := range whole.History {
		got.History = append(got.History, m.Parts[0].Text())
	}
	return got
}

// Once an answer is accepted, no way to read the task shows its old question: clients that stop
// at the first interrupted state would take it for a new one.
func TestAnsweredQuestionIsNotShownAgain(t *testing.T) {
	t.Parallel()
	for _, state := range []a2a.TaskState{a2a.TaskStateInputRequired, a2a.TaskStateAuthRequired} {
		t.Run(string(state), func(t *testing.T) {
			t.Parallel()
			proceed := make(chan struct{})
			x := &executor{run: func(_ context.Context, ec *a2asrv.ExecutorContext, yield func(a2a.Event, error) bool) {
				if ec.StoredTask == nil {
					yield(status(ec, state, "which city?"), nil)
					return
				}
				if got := ec.StoredTask.Status.State; got != state {
					t.Errorf("the agent finds the task %s, want %s as it left it", got, state)
				}
				<-proceed
				yield(status(ec, state, "which street?"), nil)
			}}
			b := start(t, engine.Config{}, x)
			proceedOnce := sync.OnceFunc(func() { close(proceed) })
			t.Cleanup(proceedOnce)
			id := b.send(text("weather")).Head.ID

			want := shownAs{State: task.Working, History: []string{"weather", "which city?", "Rome"}}
			check := func(how string, a *engine.Answer) {
				t.Helper()
				if diff := cmp.Diff(want, asShown(t, a)); diff != "" {
					t.Errorf("%s mismatch (-want +got):\n%s", how, diff)
				}
			}
			check("the answer to the follow-up", b.send(now(reply(id, "Rome"))))
			got, err := b.Get(t.Context(), alice, &op.Get{ID: id})
			if err != nil {
				t.Fatal(err)
			}
			check("Get", got)
			ten := 10
			page, err := b.List(t.Context(), alice, &op.List{HistoryLength: &ten, PageSize: 10})
			if err != nil {
				t.Fatal(err)
			}
			check("List", &engine.Answer{Answer: page.Tasks[0]})
			s, err := b.Subscribe(t.Context(), alice, &op.Subscribe{ID: id})
			if err != nil {
				t.Fatal(err)
			}
			check("Subscribe", s.First)
			s.Close()
			proceedOnce()

			last := b.send(reply(id, "really?"))
			if got := asShown(t, last); got.State == task.Working || got.Question != "which street?" {
				t.Errorf("a message that waits = %+v, want the next question", got)
			}
		})
	}
}

// answeredStore is a store that keeps, of each task, the heads since its second message that still
// show the request which that message answers.
type answeredStore struct {
	memstore.Store

	mu     sync.Mutex
	asking []task.Head
}

func (s *answeredStore) Append(ctx context.Context, c *task.Change) error {
	err := s.Store.Append(ctx, c)
	if h := &c.Next; err == nil && h.LastMessage > 1 && h.State.Interrupted() && !h.Resumed() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.asking = append(s.asking, *h)
	}
	return err
}

// An agent that asks for credentials keeps its run. Until that run learns of the answer, the task does
// not show the request that was just answered, nor does it after that: not in any state that is stored.
func TestAnsweredRequestForCredentialsIsNotShownAgain(t *testing.T) {
	t.Parallel()
	for how, send := range map[string]func(*bench, *op.Send) *engine.Answer{
		"returnImmediately": func(b *bench, r *op.Send) *engine.Answer { return b.send(now(r)) },
		"stream": func(b *bench, r *op.Send) *engine.Answer {
			s, err := b.Stream(t.Context(), alice, r)
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			return s.First
		},
	} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			learns := make(chan struct{})
			x := &executor{run: func(_ context.Context, ec *a2asrv.ExecutorContext, yield func(a2a.Event, error) bool) {
				if ec.StoredTask == nil {
					yield(status(ec, a2a.TaskStateAuthRequired, "log in"), nil)
					<-learns
					return
				}
				yield(status(ec, a2a.TaskStateCompleted, "welcome"), nil)
			}}
			store := new(answeredStore)
			b := start(t, engine.Config{Store: store}, x)
			learnsOnce := sync.OnceFunc(func() { close(learns) })
			t.Cleanup(learnsOnce)
			id := b.send(now(text("hello"))).Head.ID
			b.wait(id, task.AuthRequired)
			want := shownAs{State: task.Working, History: []string{"hello", "log in", "my code"}}
			if diff := cmp.Diff(want, asShown(t, send(b, reply(id, "my code")))); diff != "" {
				t.Errorf("the answer to the credentials mismatch (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(want, asShown(t, b.get(id))); diff != "" {
				t.Errorf("Get mismatch (-want +got):\n%s", diff)
			}
			learnsOnce()
			b.wait(id, task.Completed)
			b.stop()
			if len(store.asking) != 0 {
				t.Errorf("stored heads show the answered request: %+v", store.asking)
			}
		})
	}
}

// The stream of a follow-up begins with the working task, and ends with the next question.
func TestStreamOfAFollowUpBeginsAfterTheQuestion(t *testing.T) {
	t.Parallel()
	x := &executor{run: func(_ context.Context, ec *a2asrv.ExecutorContext, yield func(a2a.Event, error) bool) {
		yield(status(ec, a2a.TaskStateInputRequired, "about "+ec.Message.Parts[0].Text()+"?"), nil)
	}}
	b := start(t, engine.Config{}, x)
	id := b.send(text("weather")).Head.ID
	s, err := b.Stream(t.Context(), alice, reply(id, "Rome"))
	if err != nil {
		t.Fatal(err)
	}
	first := asShown(t, s.First)
	if first.Question == "about weather?" {
		t.Errorf("first = %+v, want no question that is answered", first)
	}
	asked := first.Question
	for _, ev := range follow(t, s) {
		asked = task.TextOf(ev.Body)
	}
	if asked != "about Rome?" {
		t.Errorf("the stream ends with %q, want the next question", asked)
	}
}
