package approval

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/agent"
)

// maxTries is how often an idempotent agent begins with a message in all.
const maxTries = 3

// perform lets the agent do it. After a crash it is done again only as the hub would do
// it for an agent with these traits.
func (v *visit) perform(ctx context.Context) {
	again := v.stage.Key == v.call.Key && v.stage.Phase == running
	repeats := v.traits.Idempotent && !saidOf(v.call.Task).after(v.stage.Said)
	switch {
	case !again, v.traits.Resumable, repeats && v.stage.Tries < maxTries:
	case repeats:
		v.say(a2a.TaskStateFailed, fmt.Sprintf("interrupted by restart in %d attempts", v.stage.Tries), nil)
		return
	default:
		v.say(a2a.TaskStateFailed, "interrupted by restart", nil)
		return
	}
	tries, before := 1, saidOf(v.call.Task)
	if again {
		tries, before = v.stage.Tries+1, v.stage.Said
	}
	v.stage = stage{Key: v.call.Key, Phase: running, Tries: tries, For: v.stage.For, Said: before}
	if err := v.begin(ctx); err != nil {
		v.yield(nil, err)
		return
	}
	inner := *v.call
	inner.Saved = v.inner
	if !v.traits.Resumable {
		inner.Saved, inner.Task, inner.Sealed = nil, nil, nil
		inner.Attempt = tries
	}
	ctx = agent.WithCall(ctx, agent.NewCall(inner, &passage{v}))
	for ev, err := range v.guarded.inner.Execute(ctx, v.ec) {
		if err == nil && asks(ev) {
			v.stage.Phase = asked
			err = v.save()
		}
		if !v.yield(ev, err) || err != nil {
			return
		}
	}
}

// begin makes it durable that the agent begins. An agent that goes on from its own
// checkpoints need not know.
func (v *visit) begin(ctx context.Context) error {
	if err := v.save(); err != nil || v.traits.Resumable {
		return err
	}
	return v.call.Flush(ctx)
}

// said is what callers were told of a task, as hashes; the zero said is no more than that
// it waits or works.
type said struct {
	Status    string `json:"s,omitempty"`
	Artifacts string `json:"a,omitempty"`
}

// saidOf returns what callers were told of a whole task.
func saidOf(whole []byte) said {
	var t struct {
		Status struct {
			State   string
			Message struct{ MessageID string }
		}
		Artifacts json.RawMessage
	}
	if len(whole) == 0 {
		return said{}
	}
	if err := json.Unmarshal(whole, &t); err != nil {
		return said{Status: hash(string(whole))}
	}
	var s said
	switch t.Status.State {
	case "TASK_STATE_SUBMITTED", "TASK_STATE_WORKING", "TASK_STATE_AUTH_REQUIRED":
	default:
		s.Status = hash(t.Status.State + " " + t.Status.Message.MessageID)
	}
	if len(t.Artifacts) > 0 && string(t.Artifacts) != "[]" {
		s.Artifacts = hash(string(t.Artifacts))
	}
	return s
}

// after reports whether callers were told more than before.
func (s said) after(before said) bool {
	return s.Artifacts != before.Artifacts || s.Status != "" && s.Status != before.Status
}

// asks reports whether an event says INPUT_REQUIRED.
func asks(ev a2a.Event) bool {
	switch ev := ev.(type) {
	case *a2a.TaskStatusUpdateEvent:
		return ev.Status.State == a2a.TaskStateInputRequired
	case *a2a.Task:
		return ev.Status.State == a2a.TaskStateInputRequired
	case *agent.Raw:
		type task struct{ Status struct{ State string } }
		var r struct{ StatusUpdate, Task task }
		return json.Unmarshal(ev.JSON, &r) == nil &&
			(r.StatusUpdate.Status.State == string(a2a.TaskStateInputRequired) || r.Task.Status.State == string(a2a.TaskStateInputRequired))
	}
	return false
}

// passage is the run of an agent behind the gate.
type passage struct{ v *visit }

var (
	_ agent.Run       = (*passage)(nil)
	_ agent.Delegator = (*passage)(nil)
	_ agent.Drainer   = (*passage)(nil)
	_ agent.Journaler = (*passage)(nil)
	_ agent.Confirmer = (*passage)(nil)
)

// Flush implements agent.Run.
func (p *passage) Flush(ctx context.Context) error { return p.v.call.Flush(ctx) }

// Checkpoint implements agent.Run. The agent's own stands behind that of the gate.
func (p *passage) Checkpoint(blob []byte) {
	if !p.v.traits.Resumable {
		return
	}
	p.v.inner = blob
	_ = p.v.save() // one that is too large leaves the one before
}

// Asked implements agent.Run.
func (p *passage) Asked() <-chan struct{} { return p.v.call.Asked() }

// Confirm implements agent.Confirmer.
func (p *passage) Confirm(uris []string) { p.v.call.Confirm(uris) }

// Journal implements agent.Journaler.
func (p *passage) Journal(ctx context.Context) iter.Seq2[[]byte, error] {
	return agent.Journal(agent.WithCall(ctx, p.v.own()))
}

// Record implements agent.Journaler.
func (p *passage) Record(ctx context.Context, record []byte) error {
	return agent.Record(agent.WithCall(ctx, p.v.own()), record)
}

// own returns the call whose journal is the agent's; nil if it goes on from nothing.
func (v *visit) own() *agent.Call {
	if v.traits.Resumable {
		return v.call
	}
	return nil
}

// Delegate implements agent.Delegator.
func (p *passage) Delegate(ctx context.Context, d *agent.Delegation) (*agent.Delegated, error) {
	return agent.Delegate(agent.WithCall(ctx, p.v.call), d)
}

// UntilDrain implements agent.Drainer. To end at that is for agents that go on; a gate
// always does.
func (p *passage) UntilDrain(ctx context.Context) (context.Context, context.CancelFunc) {
	if !p.v.traits.Resumable {
		return context.WithCancel(ctx)
	}
	return p.v.call.UntilDrain(ctx)
}
