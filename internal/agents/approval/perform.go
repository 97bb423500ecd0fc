package approval

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/agent"
)

// maxTries is the total number of times that an idempotent agent begins with a message.
const maxTries = 3

// perform runs the agent. After a crash it runs the agent again only if the hub would do so for
// an agent with these traits.
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

// begin records durably that the agent begins. An agent that continues from its own checkpoints
// does not need that.
func (v *visit) begin(ctx context.Context) error {
	if err := v.save(); err != nil || v.traits.Resumable {
		return err
	}
	return v.call.Flush(ctx)
}

// said is a fingerprint of the events of a task, as hashes. The zero said stands for a task
// without artifacts that waits or works.
type said struct {
	Status    string `json:"s,omitempty"`
	Artifacts string `json:"a,omitempty"`
}

// saidOf returns the fingerprint of a whole task.
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

// after reports whether there were events since before.
func (s said) after(before said) bool {
	return s.Artifacts != before.Artifacts || s.Status != "" && s.Status != before.Status
}

// asks reports whether an event sets INPUT_REQUIRED.
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

// passage is the agent.Run of a wrapped agent.
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

// Checkpoint implements agent.Run. It stores the agent's checkpoint together with that of the
// gate.
func (p *passage) Checkpoint(blob []byte) {
	if !p.v.traits.Resumable {
		return
	}
	p.v.inner = blob
	_ = p.v.save() // if it is too large, the previous one remains
}

// MessageWaiting implements agent.Run.
func (p *passage) MessageWaiting() <-chan struct{} { return p.v.call.MessageWaiting() }

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

// own returns the call with the agent's journal; nil if the agent is not Resumable.
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

// UntilDrain implements agent.Drainer. Only a Resumable agent may end its run at a drain, while
// the gate itself always may.
func (p *passage) UntilDrain(ctx context.Context) (context.Context, context.CancelFunc) {
	if !p.v.traits.Resumable {
		return context.WithCancel(ctx)
	}
	return p.v.call.UntilDrain(ctx)
}
