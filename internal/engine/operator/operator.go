// Package operator implements the operations of an operator on the tasks and agents of a
// running hub: dispatch a message again, cancel a task, fail it, assign it to another agent, pause an
// agent.
//
// # Guarantees
//
// A pause is stored before it takes effect, and takes effect again after a restart, whether or
// not an agent of that name is registered yet. Changes of a task are as durable as the task.
//
// # Non-guarantees
//
// Workers may still receive messages that were put into a queue before its agent was paused.
package operator

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/parley-a2a/parley/internal/directory/dirstore"
	"github.com/parley-a2a/parley/internal/engine"
	"github.com/parley-a2a/parley/internal/task"
)

// Operator provides the operations of an operator. Engine, Tasks and Notes are required.
type Operator struct {
	Engine *engine.Engine
	Tasks  task.Finder
	Notes  dirstore.Notes
	// Logger records the operations. If nil, they are not logged.
	Logger *slog.Logger
	// Changed is called with a task that was failed or has another agent. If nil, it is not called.
	Changed func(*task.Head)

	mu sync.Mutex // held during a change of the pauses, from the note to the engine
	// pauses are those of the note, sorted by agent.
	pauses atomic.Pointer[[]Pause]
}

// Pause is a pause of an agent.
type Pause struct {
	Agent task.Agent `json:"agent"`
	// By is the id of the operator and At the time of the pause; zero for a pause that an earlier version
	// has stored.
	By string    `json:"by,omitempty"`
	At time.Time `json:"at,omitzero"`
	// Reason is why the operator has paused the agent, for the callers whose tasks wait; it may be empty.
	// Earlier versions ignore it, and drop it when they store a pause of another agent.
	Reason string `json:"reason,omitempty"`
}

// UnmarshalJSON also accepts the name of the agent alone, which earlier versions have stored.
func (p *Pause) UnmarshalJSON(b []byte) error {
	type plain Pause
	if json.Unmarshal(b, &p.Agent) == nil {
		return nil
	}
	return json.Unmarshal(b, (*plain)(p))
}

// noteName is the name of the note that lists the paused agents.
const noteName = "paused agents"

// Errors in an operator's request.
var (
	// ErrAmbiguous is returned for an id that tasks of several owners have.
	ErrAmbiguous = errors.New("several callers have a task with this id")
	// ErrReason is returned for a reason that is too long.
	ErrReason = errors.New("the reason is too long")
)

// maxReason limits the length of a reason in bytes.
const maxReason = 2000

// Target names a task. Its Owner is needed only if several callers have a task with the id.
type Target = engine.Target

// Open pauses the agents that were paused when the hub stopped.
func (d *Operator) Open(ctx context.Context) error {
	all, err := d.stored(ctx)
	for i := range all {
		d.Engine.Pause(all[i].Agent)
	}
	d.pauses.Store(&all)
	return err
}

func (d *Operator) stored(ctx context.Context) ([]Pause, error) {
	note, err := d.Notes.Note(ctx, noteName)
	if err != nil || note == nil {
		return nil, err
	}
	var all []Pause
	if err := json.Unmarshal(note, &all); err != nil {
		return nil, fmt.Errorf("agents that are paused: %w", err)
	}
	return all, nil
}

// Pause pauses the agent of p on behalf of the operator of p, from now on. The agent need not exist. An agent that
// is paused keeps its pause, with the reason of p if it has one.
func (d *Operator) Pause(ctx context.Context, p Pause) error {
	if len(p.Reason) > maxReason {
		return fmt.Errorf("%w: more than %d bytes", ErrReason, maxReason)
	}
	p.Reason = strings.TrimSpace(p.Reason)
	p.At = time.Now().UTC().Truncate(time.Millisecond)
	return d.change(ctx, p.Agent, func(all []Pause) []Pause {
		if i := slices.IndexFunc(all, func(old Pause) bool { return old.Agent == p.Agent }); i >= 0 {
			all[i].Reason = cmp.Or(p.Reason, all[i].Reason)
			return all
		}
		all = append(all, p)
		slices.SortFunc(all, func(a, b Pause) int { return cmp.Compare(a.Agent, b.Agent) })
		return all
	})
}

// Resume resumes an agent, which need not exist.
func (d *Operator) Resume(ctx context.Context, name task.Agent) error {
	return d.change(ctx, name, func(all []Pause) []Pause {
		return slices.DeleteFunc(all, func(p Pause) bool { return p.Agent == name })
	})
}

// change stores the pauses that next returns for the stored ones, and applies them to an agent.
func (d *Operator) change(ctx context.Context, name task.Agent, next func([]Pause) []Pause) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	all, err := d.stored(ctx)
	if err != nil {
		return err
	}
	all = next(all)
	note, err := json.Marshal(all)
	if err != nil {
		return err
	}
	if err := d.Notes.PutNote(ctx, noteName, note); err != nil {
		return fmt.Errorf("pause or resume agent %s: %w", name, err)
	}
	d.pauses.Store(&all)
	_, paused := d.PauseOf(name)
	if paused {
		d.Engine.Pause(name)
	} else {
		d.Engine.Resume(name)
	}
	d.log("agent paused or resumed", "agent", name, "paused", paused)
	return nil
}

// PauseOf returns the pause of an agent, if it is paused.
func (d *Operator) PauseOf(name task.Agent) (Pause, bool) {
	if all := d.pauses.Load(); all != nil {
		for _, p := range *all {
			if p.Agent == name {
				return p, true
			}
		}
	}
	return Pause{}, false
}

// IsPaused reports whether an agent is paused.
func (d *Operator) IsPaused(name task.Agent) bool { return d.Engine.IsPaused(name) }

// Paused returns the paused agents, sorted by name.
func (d *Operator) Paused() []task.Agent { return d.Engine.Paused() }

// Inspect returns a task of any owner.
func (d *Operator) Inspect(ctx context.Context, t Target) (*engine.Answer, error) {
	if err := d.complete(ctx, &t); err != nil {
		return nil, err
	}
	return d.Engine.Inspect(ctx, t.Owner, t.ID)
}

// InspectLog returns a reader of the log of a task of any owner after a version.
func (d *Operator) InspectLog(ctx context.Context, t Target, after int64) (*engine.Stream, error) {
	if err := d.complete(ctx, &t); err != nil {
		return nil, err
	}
	return d.Engine.InspectLog(ctx, t.Owner, t.ID, after)
}

// InspectTree returns a task of any owner and those below it: see engine.InspectTree.
func (d *Operator) InspectTree(ctx context.Context, t Target) ([]engine.Node, error) {
	if err := d.complete(ctx, &t); err != nil {
		return nil, err
	}
	return d.Engine.InspectTree(ctx, t.Owner, t.ID)
}

// Redrive dispatches the current message of a task again: see engine.Redrive.
func (d *Operator) Redrive(ctx context.Context, t Target) (task.Head, error) {
	if err := d.complete(ctx, &t); err != nil {
		return task.Head{}, err
	}
	h, err := d.Engine.Redrive(ctx, t)
	if err == nil {
		d.log("task dispatched again", "task", t.ID, "agent", h.Performer(), "epoch", h.Run.Epoch)
	}
	return h, err
}

// Fail ends a task as FAILED with a reason, which its caller sees.
func (d *Operator) Fail(ctx context.Context, t Target, reason string) (task.Head, error) {
	if len(reason) > maxReason {
		return task.Head{}, fmt.Errorf("%w: more than %d bytes", ErrReason, maxReason)
	}
	if reason = strings.TrimSpace(reason); reason == "" {
		reason = "ended by the operator of the hub"
	}
	if err := d.complete(ctx, &t); err != nil {
		return task.Head{}, err
	}
	h, err := d.Engine.Fail(ctx, t, reason)
	if err == nil {
		d.changed(&h)
		d.log("task failed by an operator", "task", t.ID, "agent", h.Performer(), "reason", reason)
	}
	return h, err
}

// Cancel cancels a task as its caller may, and waits until that is done or its agent refuses.
func (d *Operator) Cancel(ctx context.Context, t Target) (task.Head, error) {
	if err := d.complete(ctx, &t); err != nil {
		return task.Head{}, err
	}
	h, err := d.Engine.CancelFor(ctx, t)
	if err == nil {
		d.log("task is canceled by an operator", "task", t.ID, "agent", h.Performer(), "state", h.State.Word())
	}
	return h, err
}

// Reassign moves a task whose agent has produced no output to another agent.
func (d *Operator) Reassign(ctx context.Context, t Target, to task.Agent) (task.Head, error) {
	if err := d.complete(ctx, &t); err != nil {
		return task.Head{}, err
	}
	h, err := d.Engine.Reassign(ctx, t, to)
	if err == nil {
		d.changed(&h)
		d.log("task reassigned to another agent", "task", t.ID, "of", h.Agent, "agent", h.Performer())
	}
	return h, err
}

// complete sets the owner of the target task.
func (d *Operator) complete(ctx context.Context, t *Target) error {
	found, err := d.Tasks.Find(ctx, t.ID)
	if err != nil {
		return err
	}
	if t.Owner != "" {
		found = slices.DeleteFunc(found, func(h task.Head) bool { return h.Owner != t.Owner })
	}
	switch len(found) {
	case 0:
		return fmt.Errorf("task %s: %w", t.ID, task.ErrNotFound)
	case 1:
		t.Owner = found[0].Owner
		return nil
	}
	var owners []string
	for i := range found {
		owners = append(owners, string(found[i].Owner))
	}
	return fmt.Errorf("task %s: %w: %s", t.ID, ErrAmbiguous, strings.Join(owners, ", "))
}

func (d *Operator) changed(h *task.Head) {
	if d.Changed != nil {
		d.Changed(h)
	}
}

func (d *Operator) log(text string, args ...any) {
	if d.Logger != nil {
		d.Logger.Info(text, args...)
	}
}
