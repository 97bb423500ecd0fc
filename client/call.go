package client

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/internal/json/rawjson"
	"github.com/parley-a2a/parley/internal/outbound/peer"
	"github.com/parley-a2a/parley/internal/task"
)

// Send sends a message and waits for the answer: a task that has ended or waits for the caller,
// or a bare message; with ReturnImmediately, the task in its current state (specification
// §3.1.1). Only ctx bounds the wait.
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

// Stream sends a message and yields the events of its task until the task has ended or waits
// for the caller (specification §3.1.2). The first event is normally a task or a bare message.
// An agent without streaming yields its answer as the only event. A stream that breaks after
// its first event is a [*Cut], which Follow resumes.
func (c *Client) Stream(ctx context.Context, req *a2a.SendMessageRequest) iter.Seq2[a2a.Event, error] {
	params, err := encode(req)
	if err != nil {
		return failed(named(err, "stream message"))
	}
	return typed(c.peer.Stream(ctx, params))
}

// Run sends a message and yields the events of its task until the task has ended or waits for
// the caller, with the means that the agent offers: it streams, resumes streams that break, and
// polls the task of an agent without streams.
func (c *Client) Run(ctx context.Context, req *a2a.SendMessageRequest) iter.Seq2[a2a.Event, error] {
	params, err := encode(req)
	if err != nil {
		return failed(named(err, "run message"))
	}
	return typed(c.peer.Run(ctx, params))
}

// Subscribe yields the task in its current state and its events until it has ended
// (specification §3.1.6). For a task that has ended already the error is
// a2a.ErrUnsupportedOperation. A stream that breaks is a [*Cut].
func (c *Client) Subscribe(ctx context.Context, req *a2a.SubscribeToTaskRequest) iter.Seq2[a2a.Event, error] {
	return typed(c.peer.Subscribe(ctx, Position{Task: req.ID, Tenant: req.Tenant}))
}

// Get returns a task (specification §3.1.3).
func (c *Client) Get(ctx context.Context, req *a2a.GetTaskRequest) (*a2a.Task, error) {
	return taskOf(ctx, c.peer.GetBy, req)
}

// Cancel requests the cancellation of a task and returns the task (specification §3.1.5).
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

// List returns a page of the caller's tasks, the last changed first (specification §3.1.4). For
// dialects without a list the error is ErrUnsupported.
func (c *Client) List(ctx context.Context, req *a2a.ListTasksRequest) (*a2a.ListTasksResponse, error) {
	params, err := encode(req)
	if err != nil {
		return nil, named(err, "list tasks")
	}
	raw, err := c.peer.List(ctx, params)
	if err != nil {
		return nil, err
	}
	var page struct {
		Tasks               []json.RawMessage
		TotalSize, PageSize int
		NextPageToken       string
	}
	if err := rawjson.Unmarshal(raw, &page); err != nil {
		return nil, fmt.Errorf("list tasks: %w: %w", a2a.ErrInvalidAgentResponse, err)
	}
	out := &a2a.ListTasksResponse{
		Tasks: make([]*a2a.Task, len(page.Tasks)), TotalSize: page.TotalSize, PageSize: page.PageSize, NextPageToken: page.NextPageToken,
	}
	for i, t := range page.Tasks {
		if out.Tasks[i], err = task.DecodeTask(t); err != nil {
			return nil, fmt.Errorf("list tasks: %w: %w", a2a.ErrInvalidAgentResponse, err)
		}
	}
	return out, nil
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

// encode encodes a request of the SDK.
func encode(req any) ([]byte, error) {
	b, err := json.Marshal(req)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", a2a.ErrInvalidParams, err)
	}
	return b, nil
}

// decode decodes an event into the SDK's types.
func decode(e *peer.Event) (a2a.Event, error) {
	event, err := task.DecodeEvent(e.JSON)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", a2a.ErrInvalidAgentResponse, err)
	}
	return event, nil
}

// typed decodes the events of a stream. It skips events of a kind that the protocol does not
// define, because the SDK has no type for them.
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

// failed returns a stream with an error only.
func failed(err error) iter.Seq2[a2a.Event, error] {
	return func(yield func(a2a.Event, error) bool) { yield(nil, err) }
}

// answered is the state of a stream that was answered with a bare message.
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
