package model_test

import (
	"context"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2asrv"

	"github.com/parley-a2a/parley/agent"
	"github.com/parley-a2a/parley/internal/agents/model"
	"github.com/parley-a2a/parley/internal/llm"
	"github.com/parley-a2a/parley/internal/store/memstore"
	"github.com/parley-a2a/parley/task"
)

func TestAnswer(t *testing.T) {
	t.Parallel()
	h := start(t, new(memstore.Store), agents{"main": scriptedAgent(t, `turns: [{when: {last: "I am (.*)"}, text: "Hello $1, and welcome."}]`)})
	wantAnswer(t, h.send(text("I am Ada")), "Hello Ada, and welcome.")
}

func TestTool(t *testing.T) {
	t.Parallel()
	a := scriptedAgent(t, `
turns:
  - when: {role: user}
    text: Let me look. 
    calls: [{name: look, arguments: {what: moon}}]
  - when: {role: tool, tool: look, last: '(.*)'}
    text: It is $1.
`)
	var got string
	a.Tools = toolset{{Name: "look", ReadOnly: true, Call: func(_ context.Context, c *llm.Call) (*llm.Result, error) {
		got = string(c.Arguments)
		return textResult("full"), nil
	}}}
	h := start(t, new(memstore.Store), agents{"main": a})
	wantAnswer(t, h.send(text("the moon?")), "It is full.")
	if want := `{"what":"moon"}`; got != want {
		t.Errorf("the tool got %s, want %s", got, want)
	}
}

// weather answers a prompt with the place in it, or asks back.
const weather = `
turns:
  - when: {last: "(north|south)"}
    text: Rain in the $1.
`

const planner = `
turns:
  - when: {role: user}
    calls:
      - {name: agent_run_north, arguments: {prompt: the weather in the north}}
      - {name: agent_run_south, arguments: {prompt: the weather in the south}}
  - when: {role: tool}
    text: I have heard of both.
`

func TestDelegates(t *testing.T) {
	t.Parallel()
	a := scriptedAgent(t, planner)
	a.Delegates = []model.Delegate{{ID: "north"}, {ID: "south"}}
	h := start(t, new(memstore.Store), agents{"main": a, "north": scriptedAgent(t, weather), "south": scriptedAgent(t, weather)})
	wantAnswer(t, h.send(text("how is the weather?")), "I have heard of both.")
	for _, name := range []task.Agent{"north", "south"} {
		all := h.tasksOf(name)
		if len(all) != 1 {
			t.Fatalf("%d tasks of %s, want one", len(all), name)
		}
		wantAnswer(t, h.get(all[0].Head.ID), "Rain in the "+string(name)+".")
	}
}

// TestQuestionOfADelegate passes the question of an agent to the caller, and the answer back.
func TestQuestionOfADelegate(t *testing.T) {
	t.Parallel()
	a := scriptedAgent(t, `
turns:
  - when: {role: user, turn: 0}
    calls: [{name: agent_run_clerk, arguments: {prompt: book a table}}]
  - when: {role: tool, last: '"status":"completed".*table for (\w+)'}
    text: Booked for $1.
`)
	a.Delegates = []model.Delegate{{ID: "clerk"}}
	clerk := agent.Func(func(_ context.Context, ec *a2asrv.ExecutorContext, yield func(a2a.Event, error) bool) {
		state, emit := a2a.TaskStateInputRequired, "for how many?"
		if ec.StoredTask != nil {
			state, emit = a2a.TaskStateCompleted, "a table for "+agent.Text(ec.Message)
		}
		yield(a2a.NewStatusUpdateEvent(ec, state, a2a.NewMessage(a2a.MessageRoleAgent, a2a.NewTextPart(emit))), nil)
	})
	h := start(t, new(memstore.Store), agents{"main": a, "clerk": clerk})
	got := h.send(text("a table, please"))
	status, _ := statusAndText(got)
	if got.Status.State != a2a.TaskStateInputRequired || status != "for how many?" {
		t.Fatalf("the task is %s and says %q, want the question", got.Status.State, status)
	}
	wantAnswer(t, h.send(reply(got.ID, "seven")), "Booked for seven.")
	if n := len(h.tasksOf("clerk")); n != 1 {
		t.Errorf("%d tasks of the clerk, want one", n)
	}
}
