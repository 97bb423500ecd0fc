package question_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2asrv"
	"go.uber.org/goleak"

	"github.com/parley-a2a/parley/agent"
	"github.com/parley-a2a/parley/auth"
	"github.com/parley-a2a/parley/internal/agents/scripted"
	"github.com/parley-a2a/parley/internal/engine"
	"github.com/parley-a2a/parley/internal/engine/enginetest"
	"github.com/parley-a2a/parley/internal/inbox/question"
	"github.com/parley-a2a/parley/internal/limits"
	"github.com/parley-a2a/parley/internal/op"
	"github.com/parley-a2a/parley/internal/store/memstore"
	"github.com/parley-a2a/parley/internal/task"
)

func TestMain(m *testing.M) {
	measure()
	goleak.VerifyTestMain(m)
}

var alice = &op.Caller{Principal: &auth.Principal{ID: "alice"}}

// hub is an engine with a responder.
type hub struct {
	*engine.Engine
	t    testing.TB
	stop func()
}

func startHub(t testing.TB, store task.Store, responder *question.PolicyResponder, agents map[task.Agent]a2asrv.AgentExecutor) *hub {
	t.Helper()
	return startConfigured(t, engine.Config{Store: store, Questions: responder, Limits: limits.Limits{DrainTimeout: -1}}, agents)
}

// startConfigured starts a hub whose cfg.Questions is a *question.PolicyResponder.
func startConfigured(t testing.TB, cfg engine.Config, agents map[task.Agent]a2asrv.AgentExecutor) *hub {
	t.Helper()
	responder := cfg.Questions.(*question.PolicyResponder)
	if err := responder.Check(); err != nil {
		t.Fatal(err)
	}
	if cfg.Store == nil {
		cfg.Store = new(memstore.Store)
	}
	var all []engine.Agent
	for name, x := range agents {
		a := enginetest.Agent(name, x)
		a.Card.DefaultInputModes = []string{"text/plain"}
		all = append(all, a)
	}
	e, end := enginetest.Start(t, cfg, all...)
	ctx, cancel := context.WithCancel(context.Background())
	var inboxes sync.WaitGroup
	if responder.Inbox != nil {
		responder.Inbox.Deliver = question.Deliver(e)
		inboxes.Go(func() { _ = responder.Inbox.Run(ctx) })
	}
	h := &hub{Engine: e, t: t, stop: func() { cancel(); inboxes.Wait(); end() }}
	t.Cleanup(h.stop)
	return h
}

// messageTo returns a message to an agent.
func messageTo(to task.Agent, text string) *op.Send {
	body, _ := json.Marshal(map[string]any{"messageId": "m-" + text, "role": "ROLE_USER", "parts": []any{map[string]string{"text": text}}})
	return &op.Send{Target: op.Target{Agent: to}, Message: op.Message{ID: "m-" + text, MediaTypes: []string{""}, Body: body}}
}

func (h *hub) send(r *op.Send) *engine.Answer {
	h.t.Helper()
	a, err := h.Send(h.t.Context(), alice, r)
	if err != nil {
		h.t.Fatal(err)
	}
	return a
}

// wait follows a task until it has ended or waits for its caller.
func (h *hub) wait(id a2a.TaskID) *engine.Answer {
	h.t.Helper()
	ctx, cancel := context.WithTimeout(h.t.Context(), time.Minute)
	defer cancel()
	if s, err := h.Subscribe(ctx, alice, &op.Subscribe{ID: id, LastEventID: "1"}); err == nil {
		defer s.Close()
		for err == nil {
			_, err = s.Next(ctx, 0)
		}
		if !errors.Is(err, io.EOF) {
			h.t.Errorf("follow %s: %v", id, err)
		}
	}
	a, err := h.Get(h.t.Context(), alice, &op.Get{ID: id})
	if err != nil {
		h.t.Fatal(err)
	}
	return a
}

func describe(a *engine.Answer) string {
	return a.Head.State.String() + " " + task.TextOf(a.Head.StatusMessage)
}

func status(ec *a2asrv.ExecutorContext, s a2a.TaskState, text string) a2a.Event {
	return a2a.NewStatusUpdateEvent(ec, s, a2a.NewMessage(a2a.MessageRoleAgent, a2a.NewTextPart(text)))
}

// answers returns the answers that an agent has got so far.
func answers(ec *a2asrv.ExecutorContext) []string {
	var all []string
	if ec.StoredTask != nil {
		for _, m := range ec.StoredTask.History {
			if m.Role == a2a.MessageRoleUser {
				all = append(all, agent.Text(m))
			}
		}
	}
	if len(all) == 0 {
		return nil
	}
	return all[1:]
}

// asker returns an agent that asks n questions, taken from ask, and completes with the answers.
func asker(n int, ask func(i int) string) a2asrv.AgentExecutor {
	return agent.With(agent.Func(func(_ context.Context, ec *a2asrv.ExecutorContext, yield func(a2a.Event, error) bool) {
		got := answers(ec)
		if len(got) < n {
			yield(status(ec, a2a.TaskStateInputRequired, ask(len(got)+1)), nil)
			return
		}
		yield(status(ec, a2a.TaskStateCompleted, strings.Join(got, ",")), nil)
	}), agent.Traits{AfterCrash: agent.Repeat})
}

func numbered(i int) string { return fmt.Sprintf("Question %d?", i) }

func clerk(t testing.TB) *scripted.Script {
	t.Helper()
	s, err := scripted.Parse("clerk.yaml", []byte("answers:\n  - {match: 'question (\\d+)', answer: 'a$1'}\notherwise: whatever\n"))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// killableStore is a store that fails after a number of changes.
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
