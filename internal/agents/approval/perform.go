package approval

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"iter"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/agent"
	"github.com/parley-a2a/parley/internal/execution"
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
	ctx = agent.WithCall(execution.WithRun(ctx, &innerRun{r.call, r}), &inner)
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

// innerRun is the hub's side of the run of a wrapped agent: that of the wrapper, except for the
// checkpoints and the journal, which the wrapper uses itself.
type innerRun struct {
	*agent.Call
	v *request
}

// Checkpoint stores the agent's checkpoint together with that of the gate.
func (i *innerRun) Checkpoint(blob []byte) error {
	if !i.v.resumes() {
		return nil
	}
	before := i.v.inner
	i.v.inner = blob
	err := i.v.save()
	if err != nil { // too large together
		i.v.inner = before
	}
	return err
}

// EarlierCheckpoint returns nil: checkpoints of other tasks are those of the gate.
func (i *innerRun) EarlierCheckpoint(context.Context) ([]byte, error) { return nil, nil }

// CheckpointOf returns nil, like EarlierCheckpoint.
func (i *innerRun) CheckpointOf(context.Context, a2a.TaskID) ([]byte, error) { return nil, nil }

// Journal yields the records of the agent.
func (i *innerRun) Journal(ctx context.Context) iter.Seq2[[]byte, error] {
	return i.v.own().Journal(ctx)
}

// Record adds a record of the agent.
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

// UntilDrain announces the end of the hub only to an agent that resumes, which may end its run
// then, while the gate itself always may.
func (i *innerRun) UntilDrain(ctx context.Context) (context.Context, context.CancelFunc) {
	if !i.v.resumes() {
		return context.WithCancel(ctx)
	}
	return i.v.call.UntilDrain(ctx)
}
