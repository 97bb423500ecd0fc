// Package operator is what an operator does to the tasks and agents of a hub that runs:
// dispatch a message again, fail a task, give it to another agent, pause an agent.
//
// # Guarantees
//
// A pause is stored before it counts, and counts again after a restart, whether or not
// there is an agent with the name yet. What is done to a task is as durable as the task.
//
// # What it does not promise
//
// Messages that were handed to a queue before its agent was paused may still be taken by
// its workers.
//
// # Concurrency
//
// A Desk is safe for concurrent use.
//
// # Testing
//
// The tests use an engine on the memory store.
package operator

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/internal/directory/dirstore"
	"github.com/parley-a2a/parley/internal/engine"
	"github.com/parley-a2a/parley/task"
)

// Desk is where an operator does it. Engine, Tasks and Notes are required.
type Desk struct {
	Engine *engine.Engine
	Tasks  task.Finder
	Notes  dirstore.Notes
	// Logger is told what was done. If nil, nobody is.
	Logger *slog.Logger

	mu sync.Mutex // held over a change of the pauses, from the note to the engine
}

// noteName is the note with the agents that are paused.
const noteName = "paused agents"

// What an operator may have got wrong.
var (
	// ErrAmbiguous is about an id that tasks of several owners have.
	ErrAmbiguous = errors.New("several callers have a task with this id")
	// ErrReason is about a text that is too long.
	ErrReason = errors.New("the reason is too long")
)

// maxReason is the length of the longest reason in bytes.
const maxReason = 2000

// Target names a task.
type Target struct {
	ID a2a.TaskID
	// Owner is needed only where several callers have a task with the id.
	Owner task.Owner
}

// Open pauses the agents that were paused when the hub stopped.
func (d *Desk) Open(ctx context.Context) error {
	names, err := d.stored(ctx)
	for _, name := range names {
		d.Engine.Pause(name)
	}
	return err
}

func (d *Desk) stored(ctx context.Context) ([]task.Agent, error) {
	note, err := d.Notes.Note(ctx, noteName)
	if err != nil || note == nil {
		return nil, err
	}
	var names []task.Agent
	if err := json.Unmarshal(note, &names); err != nil {
		return nil, fmt.Errorf("agents that are paused: %w", err)
	}
	return names, nil
}

// SetPaused pauses an agent, or gives it messages again. There need not be one.
func (d *Desk) SetPaused(ctx context.Context, name task.Agent, paused bool) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	names, err := d.stored(ctx)
	if err != nil {
		return err
	}
	names = slices.DeleteFunc(names, func(n task.Agent) bool { return n == name })
	if paused {
		names = append(names, name)
		slices.Sort(names)
	}
	note, err := json.Marshal(names)
	if err != nil {
		return err
	}
	if err := d.Notes.PutNote(ctx, noteName, note); err != nil {
		return fmt.Errorf("pause or resume agent %s: %w", name, err)
	}
	if paused {
		d.Engine.Pause(name)
	} else {
		d.Engine.Resume(name)
	}
	d.tell("agent is paused or gets messages again", "agent", name, "paused", paused)
	return nil
}

// IsPaused reports whether an agent is paused.
func (d *Desk) IsPaused(name task.Agent) bool { return d.Engine.IsPaused(name) }

// Paused returns the agents that are paused, in the order of their names.
func (d *Desk) Paused() []task.Agent { return d.Engine.Paused() }

// Redrive dispatches the message again that a task is at: see engine.Redrive.
func (d *Desk) Redrive(ctx context.Context, t Target) (task.Head, error) {
	owner, err := d.owner(ctx, t)
	if err != nil {
		return task.Head{}, err
	}
	h, err := d.Engine.Redrive(ctx, owner, t.ID)
	if err == nil {
		d.tell("task is dispatched again", "task", t.ID, "agent", h.Performer(), "epoch", h.Run.Epoch)
	}
	return h, err
}

// Fail ends a task as FAILED with a reason, which its caller is told.
func (d *Desk) Fail(ctx context.Context, t Target, reason string) (task.Head, error) {
	if len(reason) > maxReason {
		return task.Head{}, fmt.Errorf("%w: more than %d bytes", ErrReason, maxReason)
	}
	if reason = strings.TrimSpace(reason); reason == "" {
		reason = "ended by the operator of the hub"
	}
	owner, err := d.owner(ctx, t)
	if err != nil {
		return task.Head{}, err
	}
	h, err := d.Engine.Fail(ctx, owner, t.ID, reason)
	if err == nil {
		d.tell("task is failed by an operator", "task", t.ID, "agent", h.Performer(), "reason", reason)
	}
	return h, err
}

// Reassign gives a task whose agent has said nothing yet to another one.
func (d *Desk) Reassign(ctx context.Context, t Target, to task.Agent) (task.Head, error) {
	owner, err := d.owner(ctx, t)
	if err != nil {
		return task.Head{}, err
	}
	h, err := d.Engine.Reassign(ctx, owner, t.ID, to)
	if err == nil {
		d.tell("task is given to another agent", "task", t.ID, "of", h.Agent, "agent", h.Performer())
	}
	return h, err
}

// owner returns whose task is meant.
func (d *Desk) owner(ctx context.Context, t Target) (task.Owner, error) {
	found, err := d.Tasks.Find(ctx, t.ID)
	if err != nil {
		return "", err
	}
	if t.Owner != "" {
		found = slices.DeleteFunc(found, func(h task.Head) bool { return h.Owner != t.Owner })
	}
	switch len(found) {
	case 0:
		return "", fmt.Errorf("task %s: %w", t.ID, task.ErrNotFound)
	case 1:
		return found[0].Owner, nil
	}
	var owners []string
	for i := range found {
		owners = append(owners, string(found[i].Owner))
	}
	return "", fmt.Errorf("task %s: %w: %s", t.ID, ErrAmbiguous, strings.Join(owners, ", "))
}

func (d *Desk) tell(text string, args ...any) {
	if d.Logger != nil {
		d.Logger.Info(text, args...)
	}
}
