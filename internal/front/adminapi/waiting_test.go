package adminapi

import (
	"context"
	"net/http/httptest"
	"testing"

	"github.com/parley-a2a/parley/internal/adminjson"
	"github.com/parley-a2a/parley/internal/engine"
	"github.com/parley-a2a/parley/internal/store/memstore"
	"github.com/parley-a2a/parley/internal/task"
)

// scriptedHub has one agent and one check of readiness.
type scriptedHub struct {
	agent task.Agent
	check engine.Check
}

func (h *scriptedHub) Agents() []engine.Agent { return nil }
func (h *scriptedHub) Agent(name task.Agent) (engine.Agent, bool) {
	return engine.Agent{Name: name}, name == h.agent
}
func (h *scriptedHub) Ready(context.Context) []engine.Check { return []engine.Check{h.check} }

// TestWaiting checks the reasons that do not depend on the queues of a hub; the script why.txtar of the
// commands has the others. Only administrators learn what concerns the hub.
func TestWaiting(t *testing.T) {
	t.Parallel()
	ok, full := engine.Check{Name: "store", OK: true}, engine.Check{Name: "store", Detail: "the disk is full"}
	for _, tt := range []struct {
		state task.State
		agent task.Agent
		store engine.Check
		code  string
		text  string
	}{
		{task.Completed, "a", ok, "", ""},
		{task.AuthRequired, "a", ok, adminjson.WaitsForPermission, `agent "a" waits for a permission or a sign-in by a person`},
		{task.InputRequired, "a", full, adminjson.WaitsForAnswer, `agent "a" waits for an answer`},
		{task.Submitted, "a", full, adminjson.WaitsForStore, "the hub cannot write its store"},
		{task.Working, "gone", ok, adminjson.WaitsForAgent, `the hub no longer has agent "gone"`},
	} {
		h := &Handler{Hub: &scriptedHub{"a", tt.store}, Logs: engine.New(engine.Config{Store: new(memstore.Store)})}
		w := h.waiting(httptest.NewRequest("GET", Root+"/tasks/t", nil), &task.Head{ID: "t'; reboot", State: tt.state, Agent: tt.agent})[0]
		if tt.code == "" {
			if w != nil {
				t.Errorf("%v: %+v, want nothing for a task that has ended", tt.state, w)
			}
			continue
		}
		if tt.code == adminjson.WaitsForAnswer && w != nil && w.Command != `parley send --agent a --task 't'\''; reboot' "your answer"` {
			t.Errorf("the command is %s", w.Command)
		}
		if w == nil || w.Code != tt.code || w.Text != tt.text || w.Code != adminjson.WaitsForAnswer && w.Command != "" {
			t.Errorf("%v of %s: %+v, want %s: %s", tt.state, tt.agent, w, tt.code, tt.text)
		}
	}
}
