package engine_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2asrv"

	"github.com/parley-a2a/parley/internal/engine"
	"github.com/parley-a2a/parley/internal/inbox/question"
	"github.com/parley-a2a/parley/internal/limits"
	"github.com/parley-a2a/parley/internal/store/memstore"
	"github.com/parley-a2a/parley/internal/task"
)

// responder passes questions to a test. Each waits until it is settled.
type responder struct {
	posed   chan *question.Question
	settled chan error
	err     error
}

func newResponder() *responder {
	return &responder{posed: make(chan *question.Question, 10), settled: make(chan error, 10)}
}

func (d *responder) Takes(name task.Agent) bool { return name == "main" }

func (d *responder) Reply(ctx context.Context, q *question.Question) (question.Reply, error) {
	d.posed <- q
	if d.err != nil {
		return question.Reply{}, d.err
	}
	<-ctx.Done()
	d.settled <- context.Cause(ctx)
	return question.Reply{}, ctx.Err()
}

// curious asks once, and completes with the answer.
func curious() *executor {
	return &executor{run: func(_ context.Context, ec *a2asrv.ExecutorContext, yield func(a2a.Event, error) bool) {
		if ec.StoredTask == nil {
			yield(status(ec, a2a.TaskStateInputRequired, "what?"), nil)
			return
		}
		yield(a2a.NewStatusUpdateEvent(ec, a2a.TaskStateCompleted, ec.Message), nil)
	}}
}

func TestAnswer(t *testing.T) {
	t.Parallel()
	d := newResponder()
	b := start(t, engine.Config{Questions: d}, curious())
	a := b.send(now(text("hi")))
	q := <-d.posed
	if q.Text != "what?" || q.Task != a.Head.ID || q.Agent != "main" || q.Caller.ID != "alice" || len(q.Turns) != 0 {
		t.Errorf("the question is %+v", q)
	}
	late := *q
	late.Version++
	if err := b.Answer(t.Context(), &late, &question.Reply{Text: "no"}); !errors.Is(err, question.ErrAnswered) {
		t.Errorf("Answer of another version = %v, want ErrAnswered", err)
	}
	if err := b.Answer(t.Context(), q, &question.Reply{Text: "that"}); err != nil {
		t.Fatalf("Answer = %v", err)
	}
	if err := <-d.settled; !errors.Is(err, question.ErrAnswered) {
		t.Errorf("the context of the question ended with %v, want ErrAnswered", err)
	}
	if err := b.Answer(t.Context(), q, &question.Reply{Text: "this"}); !errors.Is(err, question.ErrAnswered) {
		t.Errorf("a second Answer = %v, want ErrAnswered", err)
	}
}

// TestFailedForTheCaller: a reply may fail a task that waits for its caller, once, at the version
// of the question.
func TestFailedForTheCaller(t *testing.T) {
	t.Parallel()
	b := start(t, engine.Config{}, curious())
	a := b.send(text("hi"))
	q, err := b.Waiting(t.Context(), &question.Question{Owner: a.Head.Owner, Task: a.Head.ID})
	if err != nil || q == nil || q.Message == "" {
		t.Fatalf("Waiting = %+v, %v", q, err)
	}
	if turns, err := b.Exchanges(t.Context(), q); err != nil || len(turns) != 0 {
		t.Errorf("before an answer Exchanges = %+v, %v", turns, err)
	}
	enough := &question.Reply{Fail: "enough", Break: "max_rounds"}
	late := *q
	late.Version++
	if err := b.Answer(t.Context(), &late, enough); !errors.Is(err, question.ErrAnswered) {
		t.Errorf("Answer of another version = %v, want ErrAnswered", err)
	}
	if err := b.Answer(t.Context(), q, enough); err != nil {
		t.Fatalf("Answer = %v", err)
	}
	if got := b.get(a.Head.ID); got.Head.State != task.Failed || statusText(t, got) != "enough" {
		t.Errorf("the task is %v %q", got.Head.State, statusText(t, got))
	}
	if err := b.Answer(t.Context(), q, enough); !errors.Is(err, question.ErrAnswered) {
		t.Errorf("a second Answer = %v, want ErrAnswered", err)
	}
}

// TestExchanges: each message of the caller after the first one has the agent's message before it.
func TestExchanges(t *testing.T) {
	t.Parallel()
	b := start(t, engine.Config{}, curious())
	id := b.send(text("hi")).Head.ID
	a := b.send(reply(id, "mine"))
	turns, err := b.Exchanges(t.Context(), &question.Question{Owner: a.Head.Owner, Task: id})
	if err != nil || len(turns) != 1 || turns[0] != (question.Turn{Question: "what?", Answer: "mine"}) {
		t.Errorf("Exchanges = %+v, %v", turns, err)
	}
	if _, err := b.Exchanges(t.Context(), &question.Question{Owner: "another", Task: id}); !errors.Is(err, a2a.ErrTaskNotFound) {
		t.Errorf("Exchanges of another owner = %v, want ErrTaskNotFound", err)
	}
}

// TestToolsAreTheCallers: the hub does not answer requests that only the caller can fulfil.
func TestToolsAreTheCallers(t *testing.T) {
	t.Parallel()
	d := newResponder()
	b := start(t, engine.Config{Questions: d}, &executor{run: func(_ context.Context, ec *a2asrv.ExecutorContext, yield func(a2a.Event, error) bool) {
		part := a2a.NewTextPart("May I read the file?")
		part.Metadata = map[string]any{"tool_call_id": "c1", "tool_name": "read_file"}
		yield(a2a.NewStatusUpdateEvent(ec, a2a.TaskStateInputRequired, a2a.NewMessage(a2a.MessageRoleAgent, a2a.NewTextPart("One thing:"), part)), nil)
	}})
	a := b.send(text("hi"))
	if len(d.posed) != 0 || a.Head.State != task.InputRequired || a.Head.Run.Dispatch != task.Idle {
		t.Errorf("the task is %v, %d questions are posed to the hub", a.Head.State, len(d.posed))
	}
}

// TestQuestionsSurviveRestarts: the next process asks an unanswered question again.
func TestQuestionsSurviveRestarts(t *testing.T) {
	t.Parallel()
	store, d := new(memstore.Store), newResponder()
	b := start(t, engine.Config{Store: store, Questions: d, Limits: limits.Limits{DrainTimeout: -1}}, curious())
	id := b.send(now(text("hi"))).Head.ID
	first := <-d.posed
	b.stop()
	b = start(t, engine.Config{Store: store, Questions: d, Limits: limits.Limits{DrainTimeout: -1}}, curious())
	again := <-d.posed
	if again.Version != first.Version || again.Task != id || again.Text != first.Text {
		t.Errorf("the question is %+v, want %+v", again, first)
	}
	b.stop()
	// Without Questions, the caller has to answer.
	b = start(t, engine.Config{Store: store}, curious())
	a := b.send(reply(id, "mine"))
	if got := statusText(t, a); a.Head.State != task.Completed || got != "mine" {
		t.Errorf("the task is %v %q, want it completed", a.Head.State, got)
	}
}

func TestQuestionsThatFail(t *testing.T) {
	t.Parallel()
	d := newResponder()
	d.err = errors.New("secret")
	b := start(t, engine.Config{Questions: d}, curious())
	a := b.send(text("hi"))
	if got := statusText(t, a); a.Head.State != task.Failed || !strings.Contains(got, "could not be answered (reference ") || strings.Contains(got, "secret") {
		t.Errorf("the task is %v %q", a.Head.State, got)
	}
}
