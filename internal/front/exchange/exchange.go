// Package exchange handles one message to an agent and the agent's reaction, for surfaces whose
// clients know texts and not tasks.
//
// # Overview
//
// [Begin] admits a message and returns a [Exchange], whose Events are the agent's output from then
// on: pieces of text, other parts, statuses, and the end. A turn ends when its task has ended,
// or when it waits for its caller: for input or for a permission.
//
// # Guarantees
//
// Events come from the log, so an event that was yielded survives a restart. The pieces of an
// artifact joined are its text, even if an agent repeatedly sends the whole of it. A caller
// that disconnects changes nothing: the task continues.
//
// # Non-guarantees
//
// An agent that answers with a bare message appears as a task that has completed with it. Text
// of an artifact cannot be withdrawn: if the agent replaces it, the event is marked so.
//
// # Concurrency
//
// A Exchange belongs to one goroutine.
package exchange

import (
	"context"
	"errors"
	"io"
	"iter"
	"strconv"
	"time"

	"github.com/parley-a2a/parley/internal/apierror"
	"github.com/parley-a2a/parley/internal/engine"
	"github.com/parley-a2a/parley/internal/llm"
	"github.com/parley-a2a/parley/internal/op"
	"github.com/parley-a2a/parley/internal/task"
)

// Exchange is an admitted message with its events. It must be closed.
type Exchange struct {
	// Task is the task of the message at the time of its admission.
	Task task.Head

	stream *engine.Stream
	texts  texts
	// sent is set once an artifact had text, and shown once one had another part that is for
	// its reader.
	sent, shown bool
	last        lastText
}

// Begin admits a message.
func Begin(ctx context.Context, e *engine.Engine, c *op.Caller, r *op.Send) (*Exchange, error) {
	r.ReturnImmediately = true
	a, err := e.Send(ctx, c, r)
	if err != nil {
		return nil, err
	}
	defer a.Release()
	s, err := e.Subscribe(ctx, c, &op.Subscribe{ID: a.Head.ID, LastEventID: strconv.FormatInt(a.Head.LastMessage, 10), Sent: true})
	if err != nil {
		return nil, err
	}
	return &Exchange{Task: a.Head, stream: s}, nil
}

// Close releases the task, which continues.
func (t *Exchange) Close() { t.stream.Close() }

// Kind is the kind of an Event.
type Kind uint8

const (
	// Idle means that nothing has happened for the idle time.
	Idle Kind = iota
	// Text is a piece of the text of an artifact.
	Text
	// Part is a part of an artifact that is not text.
	Part
	// Status is a status after which the turn continues.
	Status
	// End is the last event: the status with which the turn ends.
	End
)

// Event is a piece of an agent's output.
type Event struct {
	Kind Kind
	// Version is the version of the entry in the log; zero for Idle.
	Version int64
	// Artifact is the id of the artifact of Text and Part.
	Artifact string
	// Text is the piece of Text, or the text of the message of Status and End. For a task that
	// has completed without any output it is the text of llm.NoReply.
	Text string
	// Anew states that the piece is a whole text that replaces the earlier text of the
	// artifact.
	Anew bool
	// Part is a part as v1.0 JSON.
	Part []byte
	// State is the state of the task, for Status and End.
	State task.State
	// Message is the message of Status and End as v1.0 JSON, or nil.
	Message []byte
	// Said states, for End, that artifacts had text, so that Text is not the answer.
	Said bool
	// Repeats states, for End, that Text equals the text of the most recent artifact: command
	// agents that ask back send their question in both places. Surrounding white space is
	// ignored, and texts above 64 KiB are not compared.
	Repeats bool
}

// ErrStopped is returned when the hub stops before the turn has ended.
var ErrStopped = &apierror.Error{
	Err: apierror.ErrUnavailable, Message: "the hub is shutting down; the task continues after its restart", RetryAfter: 5 * time.Second,
}

// Events yields the agent's output, and Idle after each silence of the length idle; zero means
// never. The last event is End, or an error is yielded last.
func (t *Exchange) Events(ctx context.Context, idle time.Duration) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		for {
			events, err := t.stream.Next(ctx, idle)
			switch {
			case errors.Is(err, io.EOF):
				yield(Event{}, ErrStopped)
				return
			case err != nil:
				yield(Event{}, err)
				return
			case len(events) == 0 && !yield(Event{}, nil):
				return
			}
			for i := range events {
				if !t.event(&events[i].Entry, yield) {
					return
				}
			}
		}
	}
}

// event yields the events of an entry; it reports whether the turn continues.
func (t *Exchange) event(en *task.Entry, yield func(Event, error) bool) bool {
	switch en.Kind {
	case task.Artifact:
		return t.artifact(en, yield)
	case task.Status:
		ev := Event{Kind: Status, Version: en.Version, State: en.State, Message: en.Body, Text: task.TextOf(en.Body)}
		if en.State.Terminal() || en.State.Interrupted() {
			ev.Kind, ev.Said, ev.Repeats = End, t.sent, t.last.is(ev.Text)
		}
		if en.State == task.Completed && ev.Text == "" && !t.sent && !t.shown {
			ev.Text = llm.NoReply(string(t.Task.Agent), StateName(en.State))
		}
		return yield(ev, nil) && ev.Kind != End
	}
	return true
}
