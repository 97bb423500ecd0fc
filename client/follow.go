package client

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/internal/backoff"
	"github.com/parley-a2a/parley/internal/outbound/peer"
)

// The first and the longest pause between two polls of Wait for an agent that does not stream.
const (
	pollFirst = time.Second
	pollLast  = 10 * time.Second
)

// Follow yields the events of a task after a position, until the agent ends the stream because
// the task has ended or waits for the caller.
//
// If the position has an event id that the agent knows, the first event is the one after it.
// Otherwise it is the task in its current state, and may repeat earlier events. For a task that
// has ended, and for a task of an agent that does not stream, the task is the only event.
//
// A stream that breaks is resumed at that point; events without an id are repeated as part of
// the task. If an event cannot be read, the task is read whole after the others. After five consecutive attempts without news, over four seconds, the last error is
// yielded.
func (c *Client) Follow(ctx context.Context, from Position) iter.Seq2[a2a.Event, error] {
	return func(yield func(a2a.Event, error) bool) {
		f := follower{client: c, at: from, yield: yield}
		for tries := 0; ; {
			err := f.attempt(ctx)
			if f.news {
				tries = 0
			}
			if err == nil || f.stopped {
				return
			}
			if tries == len(peer.Pauses) || !peer.Passing(err) {
				yield(nil, err)
				return
			}
			if err := backoff.Sleep(ctx, peer.Pauses[tries]); err != nil {
				yield(nil, named(err, "follow task "+string(from.Task)))
				return
			}
			tries++
		}
	}
}

// follower is the state of a Follow.
type follower struct {
	client  *Client
	at      Position
	yield   func(a2a.Event, error) bool
	news    bool // the last attempt has yielded news
	stopped bool // the reader broke out
}

// attempt follows one stream to its end.
func (f *follower) attempt(ctx context.Context) error {
	f.news = false
	events := 0
	for event, err := range typed(f.client.peer.Subscribe(ctx, f.at)) {
		if err != nil {
			return f.failed(ctx, err, events)
		}
		// The task at the beginning of a subscription is not news.
		if _, ok := event.(*a2a.Task); !ok || events > 0 {
			f.news = true
		}
		events++
		if f.stopped = !f.yield(event, nil); f.stopped {
			return nil
		}
	}
	return nil
}

// failed interprets an error of a subscription after so many events; nil means that the stream
// is complete.
func (f *follower) failed(ctx context.Context, err error, events int) error {
	var cut *Cut
	switch {
	case errors.As(err, &cut):
		f.at = cut.Position
	case errors.Is(err, peer.ErrNothingLeft) && events == 0:
		return nil
	case errors.As(err, new(*peer.Unreadable)),
		events == 0 && (peer.Refused(err) || errors.Is(err, ErrUnsupported)):
		task, err := f.client.Get(ctx, &a2a.GetTaskRequest{ID: f.at.Task, Tenant: f.at.Tenant})
		if err != nil {
			return err
		}
		f.stopped = !f.yield(task, nil)
		return nil
	}
	return err
}

// Wait waits until a task has ended or waits for the caller, and returns it. Only ctx bounds
// the wait; broken streams are resumed as by Follow. An agent that does not stream is polled
// after a second, and then less and less often, at least every ten seconds.
func (c *Client) Wait(ctx context.Context, id a2a.TaskID) (*a2a.Task, error) {
	for pause := pollFirst; ; pause = min(2*pause, pollLast) {
		task, err := c.watch(ctx, id)
		if err == nil && task == nil {
			task, err = c.Get(ctx, &a2a.GetTaskRequest{ID: id})
		}
		if err != nil || settled(task.Status.State) {
			return task, err
		}
		if err := backoff.Sleep(ctx, pause); err != nil {
			return nil, named(err, fmt.Sprintf("wait for task %s, which is %s", id, task.Status.State))
		}
	}
}

// watch follows a task until it is settled, or until the agent ends the stream. It returns the
// task if the last event was the whole task, and nil otherwise, because events do not contain
// the history.
func (c *Client) watch(ctx context.Context, id a2a.TaskID) (*a2a.Task, error) {
	var state a2a.TaskState
	var whole *a2a.Task
	for event, err := range c.Follow(ctx, Position{Task: id}) {
		if err != nil {
			return nil, err
		}
		whole, _ = event.(*a2a.Task)
		if state = stateAfter(state, event); settled(state) {
			break
		}
	}
	return whole, nil
}
