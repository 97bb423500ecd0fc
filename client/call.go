package client

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/internal/outbound/peer"
)

// Send sends a message and waits for the answer: a task that has ended or waits for
// the caller, or a bare message; with ReturnImmediately, a task as it is now
// (specification §3.1.1). Only ctx bounds the wait.
func (c *Client) Send(ctx context.Context, req *a2a.SendMessageRequest) (a2a.SendMessageResult, error) {
	params, err := encode(req)
	if err != nil {
		return nil, named(err, "send message")
	}
	e, err := c.peer.Send(ctx, params)
	if err != nil {
		return nil, err
	}
	event, err := decode(&e)
	if err != nil {
		return nil, named(err, "send message")
	}
	res, ok := event.(a2a.SendMessageResult)
	if !ok {
		return nil, fmt.Errorf("send message: answered with a %s: %w", e.Kind, a2a.ErrInvalidAgentResponse)
	}
	return res, nil
}

// Stream sends a message and yields what happens to its task until the task has
// ended or waits for the caller (specification §3.1.2). The first event is a task
// or a bare message, unless the agent has another custom. An agent without streaming
// yields its answer as the only event. A stream that breaks after its first event is a
// [*Cut], which Follow takes up.
func (c *Client) Stream(ctx context.Context, req *a2a.SendMessageRequest) iter.Seq2[a2a.Event, error] {
	params, err := encode(req)
	if err != nil {
		return failed(named(err, "stream message"))
	}
	return typed(c.peer.Stream(ctx, params))
}

// Run sends a message and yields what happens to its task until the task has ended or
// waits for the caller, by all means that the agent has: it streams, takes up streams
// that break, and asks for the task again and again where there are none.
func (c *Client) Run(ctx context.Context, req *a2a.SendMessageRequest) iter.Seq2[a2a.Event, error] {
	params, err := encode(req)
	if err != nil {
		return failed(named(err, "run message"))
	}
	return typed(c.peer.Run(ctx, params))
}

// Subscribe yields the task as it is and what happens to it until it has ended
// (specification §3.1.6). A task that has ended already is
// a2a.ErrUnsupportedOperation. A stream that breaks is a [*Cut].
func (c *Client) Subscribe(ctx context.Context, req *a2a.SubscribeToTaskRequest) iter.Seq2[a2a.Event, error] {
	return typed(c.peer.Subscribe(ctx, Position{Task: req.ID, Tenant: req.Tenant}))
}

// Get returns a task (specification §3.1.3).
func (c *Client) Get(ctx context.Context, req *a2a.GetTaskRequest) (*a2a.Task, error) {
	return taskOf(ctx, c.peer.GetBy, req)
}

// Cancel asks to cancel a task and returns it (specification §3.1.5).
func (c *Client) Cancel(ctx context.Context, req *a2a.CancelTaskRequest) (*a2a.Task, error) {
	return taskOf(ctx, c.peer.CancelBy, req)
}

// taskOf makes a call whose result is a task.
func taskOf(ctx context.Context, call func(context.Context, []byte) (peer.Event, error), req any) (*a2a.Task, error) {
	params, err := encode(req)
	if err != nil {
		return nil, err
	}
	e, err := call(ctx, params)
	if err != nil {
		return nil, err
	}
	event, err := decode(&e)
	if err != nil {
		return nil, err
	}
	return event.(*a2a.Task), nil
}

// List returns a page of the caller's tasks, the last changed first
// (specification §3.1.4). Dialects without a list are ErrUnsupported.
func (c *Client) List(ctx context.Context, req *a2a.ListTasksRequest) (*a2a.ListTasksResponse, error) {
	params, err := encode(req)
	if err != nil {
		return nil, named(err, "list tasks")
	}
	raw, err := c.peer.List(ctx, params)
	if err != nil {
		return nil, err
	}
	page := new(a2a.ListTasksResponse)
	if err := json.Unmarshal(raw, page); err != nil {
		return nil, fmt.Errorf("list tasks: %w: %w", a2a.ErrInvalidAgentResponse, err)
	}
	return page, nil
}

// Tasks yields the tasks of req's page and of all pages after it.
func (c *Client) Tasks(ctx context.Context, req *a2a.ListTasksRequest) iter.Seq2[*a2a.Task, error] {
	return func(yield func(*a2a.Task, error) bool) {
		r := *req
		for {
			page, err := c.List(ctx, &r)
			if err != nil {
				yield(nil, err)
				return
			}
			for _, t := range page.Tasks {
				if !yield(t, nil) {
					return
				}
			}
			if page.NextPageToken == "" {
				return
			}
			if page.NextPageToken == r.PageToken {
				yield(nil, fmt.Errorf("list tasks: the next page is the same page: %w", a2a.ErrInvalidAgentResponse))
				return
			}
			r.PageToken = page.NextPageToken
		}
	}
}

// encode writes a request of the SDK.
func encode(req any) ([]byte, error) {
	b, err := json.Marshal(req)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", a2a.ErrInvalidParams, err)
	}
	return b, nil
}

// decode reads an event into the SDK's types.
func decode(e *peer.Event) (a2a.Event, error) {
	var r a2a.StreamResponse
	if err := json.Unmarshal(e.JSON, &r); err != nil {
		return nil, fmt.Errorf("%w: %w", a2a.ErrInvalidAgentResponse, err)
	}
	return r.Event, nil
}

// typed decodes the events of a stream. The SDK has no type for an event of a kind that
// the protocol does not have.
func typed(events iter.Seq2[peer.Event, error]) iter.Seq2[a2a.Event, error] {
	return func(yield func(a2a.Event, error) bool) {
		for e, err := range events {
			if err == nil && e.Kind == peer.Other {
				continue
			}
			var event a2a.Event
			if err == nil {
				event, err = decode(&e)
			}
			if !yield(event, err) || err != nil {
				return
			}
		}
	}
}

// failed is a stream of an error.
func failed(err error) iter.Seq2[a2a.Event, error] {
	return func(yield func(a2a.Event, error) bool) { yield(nil, err) }
}

// answered stands for a stream that was answered with a bare message.
const answered a2a.TaskState = "answered"

func stateAfter(state a2a.TaskState, event a2a.Event) a2a.TaskState {
	switch e := event.(type) {
	case *a2a.Message:
		return answered
	case *a2a.Task:
		return e.Status.State
	case *a2a.TaskStatusUpdateEvent:
		return e.Status.State
	}
	return state
}

// settled reports whether an agent may end a stream in state.
func settled(state a2a.TaskState) bool {
	return state.Terminal() || state == answered || Interrupted(state)
}

// Interrupted reports whether a task in state s waits for the caller.
func Interrupted(s a2a.TaskState) bool { return peer.Interrupted(s) }
