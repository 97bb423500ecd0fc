package model_test

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2asrv"

	"github.com/parley-a2a/parley/auth"
	"github.com/parley-a2a/parley/internal/agents/model"
	"github.com/parley-a2a/parley/internal/engine"
	"github.com/parley-a2a/parley/internal/engine/enginetest"
	"github.com/parley-a2a/parley/internal/limits"
	"github.com/parley-a2a/parley/internal/llm"
	"github.com/parley-a2a/parley/internal/llm/scripted"
	"github.com/parley-a2a/parley/internal/op"
	"github.com/parley-a2a/parley/internal/store/memstore"
	"github.com/parley-a2a/parley/internal/task"
)

// scriptedAgent returns an agent whose model follows a script.
func scriptedAgent(t testing.TB, src string) *model.Agent {
	t.Helper()
	s, err := scripted.Parse("script.yaml", []byte(src))
	if err != nil {
		t.Fatal(err)
	}
	return &model.Agent{Choices: []model.Choice{{Provider: s, Name: "script"}}}
}

// toolset is a source with fixed tools.
type toolset []llm.Tool

func (s toolset) Tools(context.Context) ([]llm.Tool, error) { return s, nil }
func (toolset) Changed() <-chan struct{}                    { return nil }

// textResult returns the result of a tool.
func textResult(text string) *llm.Result {
	return &llm.Result{Parts: []*a2a.Part{a2a.NewTextPart(text)}}
}

// hub is an engine with agents.
type hub struct {
	*engine.Engine
	t    testing.TB
	stop func()
}

// agents holds the agents of a hub by their names. The one named main is the default agent.
type agents map[task.Agent]a2asrv.AgentExecutor

// start starts an engine on a store, which may have tasks of an earlier one.
func start(t testing.TB, store task.Store, all agents) *hub {
	t.Helper()
	return startWith(t, engine.Config{Store: store, Limits: limits.Limits{DrainTimeout: -1}}, all)
}

func startWith(t testing.TB, c engine.Config, all agents) *hub {
	t.Helper()
	if c.Store == nil {
		c.Store = new(memstore.Store)
	}
	agents := []engine.Agent{enginetest.Agent("main", all["main"])}
	for name, x := range all {
		if name != "main" {
			agents = append(agents, enginetest.Agent(name, x))
		}
	}
	h := &hub{t: t}
	h.Engine, h.stop = enginetest.Start(t, c, agents...)
	return h
}

var alice = &op.Caller{Principal: &auth.Principal{ID: "alice"}}

func text(s string) *op.Send {
	body, _ := json.Marshal(map[string]any{"messageId": "m-" + s, "role": "ROLE_USER", "parts": []any{map[string]string{"text": s}}})
	return &op.Send{Message: op.Message{ID: "m-" + s, MediaTypes: []string{""}, Body: body}}
}

func reply(id a2a.TaskID, s string) *op.Send {
	r := text(s)
	r.Message.TaskID = id
	return r
}

// send sends a message and waits for the resulting task.
func (h *hub) send(r *op.Send) *a2a.Task {
	h.t.Helper()
	a, err := h.Send(h.t.Context(), alice, r)
	if err != nil {
		h.t.Fatalf("Send(%s): %v", r.Message.ID, err)
	}
	return h.task(a)
}

// begin sends a message and does not wait.
func (h *hub) begin(r *op.Send) a2a.TaskID {
	h.t.Helper()
	r.ReturnImmediately = true
	return h.send(r).ID
}

func (h *hub) task(a *engine.Answer) *a2a.Task {
	h.t.Helper()
	t, err := a.Fold.A2A(&a.Head)
	if err != nil {
		h.t.Fatal(err)
	}
	return t
}

func (h *hub) get(id a2a.TaskID) *a2a.Task {
	h.t.Helper()
	a, err := h.Get(h.t.Context(), alice, &op.Get{ID: id})
	if err != nil {
		h.t.Fatalf("Get(%s): %v", id, err)
	}
	return h.task(a)
}

// tasksOf returns the tasks of an agent.
func (h *hub) tasksOf(name task.Agent) []op.Answer {
	h.t.Helper()
	page, err := h.List(h.t.Context(), alice, &op.List{Target: op.Target{Agent: name}, PageSize: 100})
	if err != nil {
		h.t.Fatal(err)
	}
	return page.Tasks
}

// statusAndText returns the text of the status, and that of the artifact with the answer.
func statusAndText(t *a2a.Task) (status, answer string) {
	if t.Status.Message != nil {
		for _, p := range t.Status.Message.Parts {
			status += p.Text()
		}
	}
	for _, a := range t.Artifacts {
		if a.ID == "answer" {
			for _, p := range a.Parts {
				answer += p.Text()
			}
		}
	}
	return status, answer
}

// wantAnswer fails the test unless a task has completed with an answer, both in its status and
// in its artifact.
func wantAnswer(t testing.TB, got *a2a.Task, want string) {
	t.Helper()
	status, answer := statusAndText(got)
	if got.Status.State != a2a.TaskStateCompleted || status != want || answer != want {
		t.Errorf("the task is %s, says %q and has the artifact %q, want it to have completed with %q", got.Status.State, status, answer, want)
	}
}
