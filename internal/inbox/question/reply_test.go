package question_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2asrv"

	"github.com/parley-a2a/parley/agent"
	"github.com/parley-a2a/parley/internal/engine"
	"github.com/parley-a2a/parley/internal/inbox/question"
	"github.com/parley-a2a/parley/internal/op"
	"github.com/parley-a2a/parley/internal/store/memstore"
	"github.com/parley-a2a/parley/internal/task"
)

type agents = map[task.Agent]a2asrv.AgentExecutor

func TestQuestionLimits(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		responder question.PolicyResponder
		ask       func(int) string
		want      []string
		asks      int
	}{
		"rounds": {
			question.PolicyResponder{Default: question.Auto},
			numbered,
			[]string{"FAILED", "more than 20 questions in a row", "Question 21?"},
			20,
		},
		"repetition": {
			question.PolicyResponder{Default: question.Auto},
			func(i int) string { return []string{"What  now?", "what NOW", " What, now?! "}[i%3] },
			[]string{"FAILED", "same answer 3 times", "split the request"},
			3,
		},
		"other limits": {
			question.PolicyResponder{Default: question.Auto, MaxRounds: 2, Repetition: 9},
			func(int) string { return "and?" },
			[]string{"FAILED", "more than 2 questions"},
			2,
		},
		"fail":    {question.PolicyResponder{Default: question.Fail}, numbered, []string{"FAILED", "are not answered here", "Question 1?"}, 0},
		"suspend": {question.PolicyResponder{Default: question.Suspend}, numbered, []string{"INPUT_REQUIRED Question 1?"}, 0},
		"one agent": {
			question.PolicyResponder{Default: question.Auto, Policies: map[task.Agent]question.Policy{"main": question.Suspend}},
			numbered,
			[]string{"INPUT_REQUIRED Question 1?"},
			0,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test.responder.Answerer = "clerk"
			h := startHub(t, new(memstore.Store), &test.responder, agents{"main": asker(1000, test.ask), "clerk": clerk(t)})
			got := describe(h.send(messageTo("main", "go")))
			for _, want := range test.want {
				if !strings.Contains(got, want) {
					t.Errorf("the task is %q, want %q", got, want)
				}
			}
			page, err := h.List(t.Context(), alice, &op.List{Target: op.Target{Agent: "clerk"}, PageSize: 100})
			if err != nil || len(page.Tasks) != test.asks {
				t.Errorf("the clerk was asked %d times, %v, want %d", len(page.Tasks), err, test.asks)
			}
		})
	}
}

// The answering agent gives no answer.
func TestUnansweredQuestions(t *testing.T) {
	t.Parallel()
	for name, x := range map[string]a2asrv.AgentExecutor{
		"it is not there": nil,
		"it asks back":    asker(1, numbered),
		"it says nothing": agent.Func(func(_ context.Context, ec *a2asrv.ExecutorContext, yield func(a2a.Event, error) bool) {
			yield(status(ec, a2a.TaskStateCompleted, " "), nil)
		}),
	} {
		all := agents{"main": asker(1, numbered)}
		if x != nil {
			all["clerk"] = x
		}
		h := startHub(t, new(memstore.Store), &question.PolicyResponder{Answerer: "clerk", Default: question.Auto}, all)
		if got, want := describe(h.send(messageTo("main", "go"))), `FAILED agent "main" asks: Question 1?; the answering agent "clerk" `; !strings.Contains(got, want) {
			t.Errorf("%s: the task is %q, want %q", name, got, want)
		}
	}
}

// A question is answered while the answering agent is working; its own answer comes later.
func TestOneAnswerWins(t *testing.T) {
	t.Parallel()
	asked, proceed := make(chan struct{}), make(chan struct{})
	slow := agent.Func(func(_ context.Context, ec *a2asrv.ExecutorContext, yield func(a2a.Event, error) bool) {
		close(asked)
		<-proceed
		yield(status(ec, a2a.TaskStateCompleted, "late"), nil)
	})
	h := startHub(t, new(memstore.Store), &question.PolicyResponder{Answerer: "clerk", Default: question.Auto}, agents{"main": asker(1, numbered), "clerk": slow})
	r := messageTo("main", "go")
	r.ReturnImmediately = true
	id := h.send(r).Head.ID
	<-asked
	if a := h.now(id); a.Head.State != task.Working || task.TextOf(a.Head.StatusMessage) != "Question 1?" || a.Head.Run.Dispatch != task.Asking {
		t.Errorf("the task is %s, want it at work on a question", describe(a))
	}
	own := messageTo("", "mine")
	own.Message.TaskID = id
	if got := describe(h.send(own)); got != "TASK_STATE_COMPLETED mine" {
		t.Errorf("the task is %q, want the caller's answer", got)
	}
	close(proceed)
	h.stop()
}

// now returns the current state of a task.
func (h *hub) now(id a2a.TaskID) *engine.Answer {
	h.t.Helper()
	a, err := h.Get(h.t.Context(), alice, &op.Get{ID: id})
	if err != nil {
		h.t.Fatal(err)
	}
	return a
}

// A task is canceled while its question is being answered.
func TestCancelOfAQuestion(t *testing.T) {
	t.Parallel()
	asked, ended := make(chan struct{}), make(chan struct{})
	slow := agent.Func(func(ctx context.Context, _ *a2asrv.ExecutorContext, _ func(a2a.Event, error) bool) {
		close(asked)
		<-ctx.Done()
		close(ended)
	})
	h := startHub(t, new(memstore.Store), &question.PolicyResponder{Answerer: "clerk", Default: question.Auto}, agents{"main": asker(1, numbered), "clerk": slow})
	r := messageTo("main", "go")
	r.ReturnImmediately = true
	id := h.send(r).Head.ID
	<-asked
	if a, err := h.Cancel(t.Context(), alice, &op.Cancel{ID: id}); err != nil || a.Head.State != task.Canceled {
		t.Fatalf("Cancel = %v, %v", a, err)
	}
	<-ended
}

func TestCheck(t *testing.T) {
	t.Parallel()
	if err := (&question.PolicyResponder{Default: question.Auto}).Check(); !errors.Is(err, question.ErrNoAnswerer) {
		t.Errorf("Check without an answering agent = %v", err)
	}
	for name, p := range map[task.Agent]question.Policy{"main": "perhaps", "clerk": question.Auto} {
		d := &question.PolicyResponder{Answerer: "clerk", Policies: map[task.Agent]question.Policy{name: p}}
		if err := d.Check(); err == nil || !strings.Contains(err.Error(), string(name)) {
			t.Errorf("Check with %q for %q = %v", p, name, err)
		}
	}
}

// Kills a hub before each change of a dialogue, and lets the restarted hub continue.
func TestKills(t *testing.T) {
	t.Parallel()
	responder := &question.PolicyResponder{Answerer: "clerk", Default: question.Auto}
	kills := 0
	for cut := int64(1); ; cut++ {
		disk := new(memstore.Store)
		store := newKillableStore(disk, cut)
		h := startHub(t, store, responder, agents{"main": asker(5, numbered), "clerk": clerk(t)})
		r := messageTo("main", "go")
		r.ReturnImmediately = true
		a, err := h.Send(t.Context(), alice, r)
		if err != nil {
			t.Fatalf("cut %d: %v", cut, err)
		}
		ended := make(chan struct{})
		ctx, cancel := context.WithCancel(t.Context())
		go func() {
			defer close(ended)
			if s, err := h.Subscribe(ctx, alice, &op.Subscribe{ID: a.Head.ID, LastEventID: "1"}); err == nil {
				defer s.Close()
				for err == nil {
					_, err = s.Next(ctx, 0)
				}
			}
		}()
		killed := false
		select {
		case <-store.dead:
			killed = true
		case <-ended:
		}
		cancel()
		<-ended
		h.stop()
		if !killed {
			break
		}
		kills++
		h = startHub(t, disk, responder, agents{"main": asker(5, numbered), "clerk": clerk(t)})
		if got := describe(h.wait(a.Head.ID)); got != "TASK_STATE_COMPLETED a1,a2,a3,a4,a5" {
			t.Errorf("after a kill before change %d the task is %q", cut+1, got)
		}
		page, err := h.List(t.Context(), alice, &op.List{Target: op.Target{Agent: "clerk"}, PageSize: 100})
		if err != nil || len(page.Tasks) != 5 {
			t.Errorf("after a kill before change %d the clerk was asked %d times, %v, want 5", cut+1, len(page.Tasks), err)
		}
		h.stop()
	}
	if kills < 15 {
		t.Errorf("%d kills, want one before each change", kills)
	}
}

// The rounds of an interrupted dialogue are counted across a restart.
func TestRoundsSurviveARestart(t *testing.T) {
	t.Parallel()
	disk, responder := new(memstore.Store), &question.PolicyResponder{Answerer: "clerk", Default: question.Auto, MaxRounds: 4}
	store := newKillableStore(disk, 9)
	h := startHub(t, store, responder, agents{"main": asker(100, numbered), "clerk": clerk(t)})
	r := messageTo("main", "go")
	r.ReturnImmediately = true
	id := h.send(r).Head.ID
	<-store.dead
	h.stop()
	h = startHub(t, disk, responder, agents{"main": asker(100, numbered), "clerk": clerk(t)})
	if got, want := describe(h.wait(id)), "more than 4 questions in a row, the last one: Question 5?"; !strings.Contains(got, want) {
		t.Errorf("the task is %q, want %q", got, want)
	}
}

// A message that arrived before the question answers it, even if the hub is killed in between.
func TestMessagesBeforeTheQuestion(t *testing.T) {
	t.Parallel()
	disk, ask := new(memstore.Store), make(chan struct{})
	store := newKillableStore(disk, 3) // the message, the second message, the question
	inner := asker(1, numbered)
	main := agent.With(agent.Func(func(ctx context.Context, ec *a2asrv.ExecutorContext, yield func(a2a.Event, error) bool) {
		<-ask
		if ec.StoredTask == nil || agent.Text(ec.Message) == "go" {
			yield(status(ec, a2a.TaskStateInputRequired, "Question 1?"), nil)
			return
		}
		for ev, err := range inner.Execute(ctx, ec) {
			yield(ev, err)
		}
	}), agent.Traits{AfterCrash: agent.Repeat})
	responder := &question.PolicyResponder{Answerer: "clerk", Default: question.Auto}
	h := startHub(t, store, responder, agents{"main": main, "clerk": clerk(t)})
	r := messageTo("main", "go")
	r.ReturnImmediately = true
	id := h.send(r).Head.ID
	more := messageTo("", "more")
	more.Message.TaskID, more.ReturnImmediately = id, true
	h.send(more)
	close(ask)
	<-store.dead
	h.stop()
	h = startHub(t, disk, responder, agents{"main": main, "clerk": clerk(t)})
	if got := describe(h.wait(id)); got != "TASK_STATE_COMPLETED more" {
		t.Errorf("the task is %q", got)
	}
}
