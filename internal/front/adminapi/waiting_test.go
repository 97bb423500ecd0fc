package adminapi

import (
	"context"
	"net/http/httptest"
	"testing"

	"github.com/google/go-cmp/cmp"

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
		want  *adminjson.Waiting
	}{
		{task.Completed, "a", ok, nil},
		{task.AuthRequired, "a", ok, &adminjson.Waiting{
			Code: adminjson.WaitsForPermission, Command: `parley tasks watch 't'\''; reboot' --agent a`,
			Text: `its caller must sign in or give a permission as agent "a" asks, not at this hub; the agent then continues`,
		}},
		{task.InputRequired, "a", full, &adminjson.Waiting{
			Code: adminjson.WaitsForAnswer, Command: `parley send --agent a --task 't'\''; reboot' "your answer"`,
			Text: `agent "a" waits for an answer`,
		}},
		{task.Submitted, "a", full, &adminjson.Waiting{Code: adminjson.WaitsForStore, Text: "the hub cannot write its store"}},
		{task.Working, "gone", ok, &adminjson.Waiting{Code: adminjson.WaitsForAgent, Text: `the hub no longer has agent "gone"`}},
	} {
		h := &Handler{Hub: &scriptedHub{"a", tt.store}, Logs: engine.New(engine.Config{Store: new(memstore.Store)})}
		w := h.waiting(httptest.NewRequest("GET", Root+"/tasks/t", nil), &task.Head{ID: "t'; reboot", State: tt.state, Agent: tt.agent})[0]
		if diff := cmp.Diff(tt.want, w); diff != "" {
			t.Errorf("%v of %s (-want +got):\n%s", tt.state, tt.agent, diff)
		}
	}
}
