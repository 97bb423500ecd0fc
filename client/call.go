package client

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"net"
	"net/url"
	"strings"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2aclient"
)

// Send sends a message and waits for the answer: a task that has ended or waits for
// the caller, or a bare message; with ReturnImmediately, a task as it is now
// (specification §3.1.1). Only ctx bounds the wait.
func (c *Client) Send(ctx context.Context, req *a2a.SendMessageRequest) (a2a.SendMessageResult, error) {
	res, err := try(ctx, c, func(e *endpoint, sdk *a2aclient.Client) (a2a.SendMessageResult, error) {
		return sdk.SendMessage(ctx, req)
	})
	return res, named(err, "send message")
}

// Stream sends a message and yields what happens to its task until the task has
// ended or waits for the caller (specification §3.1.2). The first event is a task
// or a bare message. An agent without streaming yields its answer as the only event.
// A stream that breaks after its first event is a [*Cut], which Follow takes up.
func (c *Client) Stream(ctx context.Context, req *a2a.SendMessageRequest) iter.Seq2[a2a.Event, error] {
	return c.stream(ctx, "stream message", Position{},
		func(ctx context.Context, _ *endpoint, sdk *a2aclient.Client) iter.Seq2[a2a.Event, error] {
			return sdk.SendStreamingMessage(ctx, req)
		})
}

// Subscribe yields the task as it is and what happens to it until it has ended
// (specification §3.1.6). A task that has ended already is
// a2a.ErrUnsupportedOperation. A stream that breaks is a [*Cut].
func (c *Client) Subscribe(ctx context.Context, req *a2a.SubscribeToTaskRequest) iter.Seq2[a2a.Event, error] {
	return c.subscribe(ctx, Position{Task: req.ID}, req)
}

func (c *Client) subscribe(
	ctx context.Context, from Position, req *a2a.SubscribeToTaskRequest,
) iter.Seq2[a2a.Event, error] {
	return c.stream(ctx, "subscribe to task "+string(req.ID), from,
		func(ctx context.Context, e *endpoint, sdk *a2aclient.Client) iter.Seq2[a2a.Event, error] {
			r := *req
			r.ID = e.pathID(req.ID)
			return sdk.SubscribeToTask(ctx, &r)
		})
}

// Get returns a task (specification §3.1.3).
func (c *Client) Get(ctx context.Context, req *a2a.GetTaskRequest) (*a2a.Task, error) {
	ctx, cancel := withTimeout(ctx, c.opts.timeout())
	defer cancel()
	task, err := try(ctx, c, func(e *endpoint, sdk *a2aclient.Client) (*a2a.Task, error) {
		r := *req
		r.ID = e.pathID(req.ID)
		return sdk.GetTask(ctx, &r)
	})
	return task, named(err, "get task "+string(req.ID))
}

// Cancel asks to cancel a task and returns it (specification §3.1.5).
func (c *Client) Cancel(ctx context.Context, req *a2a.CancelTaskRequest) (*a2a.Task, error) {
	ctx, cancel := withTimeout(ctx, c.opts.timeout())
	defer cancel()
	task, err := try(ctx, c, func(e *endpoint, sdk *a2aclient.Client) (*a2a.Task, error) {
		r := *req
		r.ID = e.pathID(req.ID)
		return sdk.CancelTask(ctx, &r)
	})
	return task, named(err, "cancel task "+string(req.ID))
}

// List returns a page of the caller's tasks, the last changed first
// (specification §3.1.4).
func (c *Client) List(ctx context.Context, req *a2a.ListTasksRequest) (*a2a.ListTasksResponse, error) {
	ctx, cancel := withTimeout(ctx, c.opts.timeout())
	defer cancel()
	page, err := try(ctx, c, func(e *endpoint, sdk *a2aclient.Client) (*a2a.ListTasksResponse, error) {
		return sdk.ListTasks(ctx, req)
	})
	return page, named(err, "list tasks")
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

// try calls the endpoints in turn until one can be connected to.
func try[T any](ctx context.Context, c *Client, call func(*endpoint, *a2aclient.Client) (T, error)) (T, error) {
	var last error
	for _, e := range c.order() {
		sdk, err := c.connect(ctx, e)
		if err == nil {
			var res T
			if res, err = call(e, sdk); err == nil {
				c.worked(e)
				return res, nil
			}
		}
		err = explain(ctx, err)
		if !errors.Is(err, ErrUnreachable) {
			var zero T
			return zero, err
		}
		if last == nil {
			last = err
		}
	}
	var zero T
	return zero, last
}

// opener begins a stream on an endpoint.
type opener = func(context.Context, *endpoint, *a2aclient.Client) iter.Seq2[a2a.Event, error]

// stream is try for streams. It goes to the next endpoint only before the first
// event.
func (c *Client) stream(ctx context.Context, op string, from Position, open opener) iter.Seq2[a2a.Event, error] {
	return func(yield func(a2a.Event, error) bool) {
		var last error
		for _, e := range c.order() {
			sdk, err := c.connect(ctx, e)
			if err == nil {
				at := &cursor{id: from.EventID}
				r := relay{client: c, endpoint: e, at: at, task: from.Task}
				var ended bool
				if ended, err = r.run(ctx, open(withCursor(ctx, at), e, sdk), yield); ended {
					return
				}
			}
			err = named(explain(ctx, err), op)
			if !errors.Is(err, ErrUnreachable) {
				yield(nil, err)
				return
			}
			if last == nil {
				last = err
			}
		}
		yield(nil, last)
	}
}

// relay passes the events of one stream on.
type relay struct {
	client   *Client
	endpoint *endpoint
	at       *cursor

	task     a2a.TaskID
	state    a2a.TaskState
	answered bool
}

// run yields events. It reports whether the stream came to its end, be it that the
// reader broke out, and otherwise why not.
func (r *relay) run(
	ctx context.Context, events iter.Seq2[a2a.Event, error], yield func(a2a.Event, error) bool,
) (ended bool, err error) {
	for event, err := range events {
		if err != nil {
			return r.failed(ctx, err)
		}
		r.note(event)
		if !yield(event, nil) {
			return true, nil
		}
	}
	if ctx.Err() != nil || !settled(r.state) {
		return false, r.cut(nil)
	}
	return true, nil
}

// failed tells a connection that broke from an error of the agent. After the last
// event of a task, it does not matter how the connection ends.
func (r *relay) failed(ctx context.Context, err error) (ended bool, _ error) {
	if !r.answered || !broken(err) || ctx.Err() != nil {
		return false, err
	}
	if r.state.Terminal() || r.state == answeredState {
		return true, nil
	}
	return false, r.cut(err)
}

func (r *relay) cut(err error) error {
	return &Cut{Position: Position{Task: r.task, EventID: r.at.id}, Err: err}
}

func (r *relay) note(event a2a.Event) {
	if !r.answered {
		r.client.worked(r.endpoint)
		r.answered = true
	}
	r.state = stateAfter(r.state, event)
	if id := event.TaskInfo().TaskID; id != "" {
		r.task = id
	}
}

// broken reports whether err comes from the connection and not from the agent.
func broken(err error) bool {
	var agent *Error
	var sdk *a2a.Error
	return !errors.As(err, &agent) && !errors.As(err, &sdk)
}

// answeredState stands for a stream that was answered with a bare message.
const answeredState a2a.TaskState = "answered"

func stateAfter(state a2a.TaskState, event a2a.Event) a2a.TaskState {
	switch e := event.(type) {
	case *a2a.Message:
		return answeredState
	case *a2a.Task:
		return e.Status.State
	case *a2a.TaskStatusUpdateEvent:
		return e.Status.State
	}
	return state
}

// settled reports whether an agent may end a stream in state.
func settled(state a2a.TaskState) bool {
	return state.Terminal() || state == answeredState || Interrupted(state)
}

// Interrupted reports whether a task in state s waits for the caller.
func Interrupted(s a2a.TaskState) bool {
	return s == a2a.TaskStateInputRequired || s == a2a.TaskStateAuthRequired
}

// Loopback reports whether hostport, with or without a port, names this machine.
func Loopback(hostport string) bool {
	host, _, _ := strings.Cut(hostport, "/")
	if h, _, err := net.SplitHostPort(host); err == nil {
		host = h
	}
	host = strings.Trim(host, "[]")
	ip := net.ParseIP(host)
	return host == "localhost" || strings.HasSuffix(host, ".localhost") || ip != nil && ip.IsLoopback()
}

// pathID returns id as it must be given to the SDK, which writes ids into paths as
// they are, and decodes them once on the way.
func (e *endpoint) pathID(id a2a.TaskID) a2a.TaskID {
	if e.iface.ProtocolBinding != a2a.TransportProtocolHTTPJSON {
		return id
	}
	return a2a.TaskID(url.PathEscape(url.PathEscape(string(id))))
}

func withTimeout(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	if d < 0 {
		return context.WithCancel(ctx)
	}
	return context.WithTimeoutCause(ctx, d, fmt.Errorf("no answer within %v: %w", d, context.DeadlineExceeded))
}

func named(err error, op string) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", op, err)
}
