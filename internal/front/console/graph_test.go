package console_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2asrv"

	"github.com/parley-a2a/parley/agent"
	"github.com/parley-a2a/parley/internal/engine"
	"github.com/parley-a2a/parley/internal/testing/hostiletest"
	"github.com/parley-a2a/parley/task"
)

// delegating passes each message on to another agent, and reports a cost.
func delegating(to task.Agent) agent.Func {
	return func(ctx context.Context, ec *a2asrv.ExecutorContext, yield func(a2a.Event, error) bool) {
		if _, err := agent.CallFrom(ctx).Delegate(ctx, &agent.Delegation{Agent: to, Message: ec.Message, Key: "one"}); err != nil {
			yield(nil, err)
			return
		}
		done := a2a.NewMessageForTask(a2a.MessageRoleAgent, ec, a2a.NewTextPart("done"))
		done.Metadata = map[string]any{"application/vnd.protolabs.cost-v1+json": json.RawMessage(`{"costUsd":1.25,"usage":{"input_tokens":1200,"output_tokens":30}}`)}
		yield(a2a.NewStatusUpdateEvent(ec, a2a.TaskStateCompleted, done), nil)
	}
}

// failing fails each message.
func failing(_ context.Context, _ *a2asrv.ExecutorContext, yield func(a2a.Event, error) bool) {
	yield(nil, errors.New("no money"))
}

// TestCalls shows the calls between callers and agents, and their cost, to administrators alone.
func TestCalls(t *testing.T) {
	t.Parallel()
	w := newWorld(t, true,
		engine.Agent{Name: "shop", Card: &a2a.AgentCard{Name: "Shop"}, Executor: delegating("pay")},
		engine.Agent{Name: "pay", Card: &a2a.AgentCard{Name: "Pay"}, Executor: agent.Func(failing)})
	ann, bob, root := w.as(annsKey), w.as(bobsKey), w.as(rootKey)
	wants(t, root.get("/console/calls?last=hour"), 200, "No task has changed in this time", "<title>Calls · Parley</title>")
	wants(t, root.get("/console/costs"), 200, "No agent has reported tokens")
	id := ann.send("shop", "buy it")
	ann.events("/console/task/events?id="+id+"&after=0", "completed")
	bob.send("echo", "hello")
	wants(t, root.get("/console/calls"), 200, "<svg", "ann calls shop: 1 tasks, 0 failed", "shop calls pay: 1 tasks, 1 failed", `class="edge bad"`, "owner=ann", "100 %")
	if a := root.get("/console/calls?find=pay"); strings.Contains(a.body, "bob") {
		t.Errorf("the filter shows another call: %s", a.body)
	}
	wants(t, root.get("/console/calls?find=none"), 200, "No matching calls")
	wants(t, root.get("/console/calls?last=year"), 400, "must be hour, day or week")
	wants(t, root.get("/console/costs?last=day"), 200, "By caller", "By agent", "$1.25", "1,230", "agent=shop")
	wants(t, root.get("/console/task?id="+id+"&owner=ann"), 200, "Delegation", "2 tasks", "$1.25", `&amp;owner=ann">pay</a>`)
	if a := bob.get("/console/task?id=" + id + "&owner=ann"); a.code != 403 || strings.Contains(a.body, "pay</a>") {
		t.Errorf("the task of another caller = %d %s", a.code, a.body)
	}
	for _, path := range []string{"/console/calls", "/console/costs"} {
		if a := ann.get(path); a.code != 403 || strings.Contains(a.body, "bob") {
			t.Errorf("%s of a caller without a role = %d %s", path, a.code, a.body)
		}
	}
	if a := ann.get("/console/"); strings.Contains(a.body, `href="/console/calls"`) {
		t.Error("a caller without a role has a link to the calls of the hub")
	}
}

// TestHostileCalls checks that names of callers and agents stay text in the picture and the tables.
func TestHostileCalls(t *testing.T) {
	t.Parallel()
	h := hostileWorld(t)
	p := h.person()
	for i := range hostiletest.Texts {
		p.send(string(agentOf(i)), "x")
	}
	check(t, "calls", p.get("/console/calls").body)
	check(t, "costs", p.get("/console/costs").body)
	for _, s := range hostiletest.Texts {
		q := url.QueryEscape(s)
		check(t, fmt.Sprintf("%q in filters of calls", s), p.get("/console/calls?find="+q).body)
		check(t, fmt.Sprintf("%q as the time of calls", s), p.get("/console/calls?last="+q).body)
		check(t, fmt.Sprintf("%q in filters of costs", s), p.get("/console/costs?find="+q).body)
	}
}
