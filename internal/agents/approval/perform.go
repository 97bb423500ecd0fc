package approval

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"iter"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/agent"
)

// resumes reports whether the agent itself continues from its checkpoints.
func (w *wrapped) resumes() bool { return w.traits.AfterCrash == agent.Resume }

// maxTries is the total number of times that an idempotent agent begins with a message.
const maxTries = 3

// perform runs the agent. After a crash it runs the agent again only if the hub would do so for
// an agent with these traits.
func (r *request) perform(ctx context.Context) {
	again := r.checkpoint.Key == r.call.Key && r.checkpoint.Phase == running
	repeats := r.traits.AfterCrash.Repeats(outputHashOf(r.call.Task).after(r.checkpoint.Said))
	switch {
	case !again, r.resumes(), repeats && r.checkpoint.Tries < maxTries:
	case repeats:
		r.sendStatus(a2a.TaskStateFailed, fmt.Sprintf("interrupted by restart in %d attempts", r.checkpoint.Tries), nil)
		return
	default:
		r.sendStatus(a2a.TaskStateFailed, "interrupted by restart", nil)
		return
	}
	tries, before := 1, outputHashOf(r.call.Task)
	if again {
		tries, before = r.checkpoint.Tries+1, r.checkpoint.Said
	}
	r.checkpoint = checkpoint{Key: r.call.Key, Phase: running, Tries: tries, For: r.checkpoint.For, Open: r.open, Said: before}
	if err := r.begin(ctx); err != nil {
		r.yield(nil, err)
		return
	}
	inner := *r.call
	inner.Saved, inner.Skill = r.inner, cmp.Or(r.open, r.call.Skill)
	if !r.resumes() {
		inner.Saved, inner.Task, inner.Sealed = nil, nil, nil
		inner.Attempt = tries
	}
	ctx = agent.WithCall(ctx, agent.NewCall(inner, &innerRun{r}))
	for ev, err := range r.wrapped.inner.Execute(ctx, r.ec) {
		if err == nil && asks(ev) {
			r.checkpoint.Phase = asked
			err = r.save()
		}
		if !r.yield(ev, err) || err != nil {
			return
		}
	}
}

// begin records durably that the agent begins. An agent that continues from its own checkpoints
// does not need that.
func (r *request) begin(ctx context.Context) error {
	if err := r.save(); err != nil || r.resumes() {
		return err
	}
	return r.call.Flush(ctx)
}

// outputHash is a fingerprint of the events of a task, as hashes. The zero outputHash stands
// for a task without artifacts that waits or works.
type outputHash struct {
	Status    string `json:"s,omitempty"`
	Artifacts string `json:"a,omitempty"`
}

// outputHashOf returns the fingerprint of a whole task.
func outputHashOf(whole []byte) outputHash {
	var t struct {
		Status struct {
			State   string
			Message struct{ MessageID string }
		}
		Artifacts json.RawMessage
	}
	if len(whole) == 0 {
		return outputHash{}
	}
	if err := json.Unmarshal(whole, &t); err != nil {
		return outputHash{Status: hash(string(whole))}
	}
	var s outputHash
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
func (s outputHash) after(before outputHash) bool {
	return s.Artifacts != before.Artifacts || s.Status != "" && s.Status != before.Status
}

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

// innerRun is the agent.Run of a wrapped agent.
type innerRun struct{ v *request }

var (
	_ agent.Run       = (*innerRun)(nil)
	_ agent.Delegator = (*innerRun)(nil)
	_ agent.Drainer   = (*innerRun)(nil)
	_ agent.Journaler = (*innerRun)(nil)
	_ agent.Confirmer = (*innerRun)(nil)
)

// Flush implements agent.Run.
func (i *innerRun) Flush(ctx context.Context) error { return i.v.call.Flush(ctx) }

// Checkpoint implements agent.Run. It stores the agent's checkpoint together with that of the
// gate.
func (i *innerRun) Checkpoint(blob []byte) {
	if !i.v.resumes() {
		return
	}
	i.v.inner = blob
	_ = i.v.save() // if it is too large, the previous one remains
}

// MessageWaiting implements agent.Run.
func (i *innerRun) MessageWaiting() <-chan struct{} { return i.v.call.MessageWaiting() }

// Confirm implements agent.Confirmer.
func (i *innerRun) Confirm(uris []string) { i.v.call.Confirm(uris) }

// Journal implements agent.Journaler.
func (i *innerRun) Journal(ctx context.Context) iter.Seq2[[]byte, error] {
	return i.v.own().Journal(ctx)
}

// Record implements agent.Journaler.
func (i *innerRun) Record(ctx context.Context, record []byte) error {
	return i.v.own().Record(ctx, record)
}

// own returns the call with the agent's journal; nil if the agent does not resume.
func (r *request) own() *agent.Call {
	if r.resumes() {
		return r.call
	}
	return nil
}

// Delegate implements agent.Delegator.
func (i *innerRun) Delegate(ctx context.Context, d *agent.Delegation) (*agent.Delegated, error) {
	return i.v.call.Delegate(ctx, d)
}

// UntilDrain implements agent.Drainer. Only an agent that resumes may end its run at a drain,
// while the gate itself always may.
func (i *innerRun) UntilDrain(ctx context.Context) (context.Context, context.CancelFunc) {
	if !i.v.resumes() {
		return context.WithCancel(ctx)
	}
	return i.v.call.UntilDrain(ctx)
}
