package peer

import (
	"context"
	"errors"
	"net/url"
	"slices"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/internal/dialect"
	"github.com/parley-a2a/parley/internal/json/rawjson"
	"github.com/parley-a2a/parley/internal/outbound/transport"
)

// Send sends a message and returns the answer: a task that has ended or waits for the caller,
// or a bare message; with returnImmediately in the configuration, the task in its current state
// (specification §3.1.1). Beside an *Unreadable the event has what could be read. params are a SendMessageRequest of v1.0.
func (p *Peer) Send(ctx context.Context, params []byte) (Event, error) {
	ctx, cancel := bound(ctx, limit(p.opts.Deadline, DefaultDeadline))
	defer cancel()
	a, err := p.sending(dialect.SendMessage, params)
	if err != nil {
		return Event{}, named(err, "send message")
	}
	raw, err := p.call(ctx, a)
	if raw == nil {
		return Event{}, named(err, "send message")
	}
	return NewEvent(raw), named(err, "send message")
}

// sending returns the call that sends a message. A job has the id that its caller chose.
func (p *Peer) sending(op dialect.Operation, params []byte) (*ask, error) {
	if err := dialect.CheckAsk(params); err != nil {
		return nil, err
	}
	a := &ask{op: op, params: params}
	if slices.ContainsFunc(p.endpoints, (*endpoint).takesJobs) {
		a.job, a.task = jobOf(params)
	}
	return a, nil
}

// jobOf returns the id of the job for a message, and the task that it represents to the caller.
// Each message is a job of its own, and the context connects them; so a message that is resent
// is the same job.
func jobOf(params []byte) (job, task a2a.TaskID) {
	msg := rawjson.Member(params, "message")
	job = a2a.TaskID(text(msg, "messageId"))
	if job == "" {
		job = a2a.NewTaskID()
	}
	if task = a2a.TaskID(text(msg, "taskId")); task == "" {
		task = job
	}
	return job, task
}

// withJob returns params with the id of the job beside the message.
func withJob(params []byte, job a2a.TaskID) []byte {
	out := rawjson.AppendString([]byte(`{"taskId":`), string(job))
	return append(rawjson.AppendMembers(out, params, "taskId"), '}')
}

// Get returns a task (specification §3.1.3), with up to historyLength messages of its history;
// nil means the agent's default. Beside an *Unreadable the event has what could be read.
func (p *Peer) Get(ctx context.Context, id a2a.TaskID, historyLength *int) (Event, error) {
	return p.task(ctx, "get task", &ask{op: dialect.GetTask, params: getParams(id, historyLength)}, id)
}

// Cancel requests the cancellation of a task and returns the task (specification §3.1.5). The
// metadata of the request is a JSON object or nil; messages of the proto of v0.3 do not have it.
func (p *Peer) Cancel(ctx context.Context, id a2a.TaskID, metadata []byte) (Event, error) {
	params := getParams(id, nil)
	if metadata != nil {
		params = append(rawjson.AppendMember(params[:len(params)-1], "metadata", metadata), '}')
	}
	return p.task(ctx, "cancel task", &ask{op: dialect.CancelTask, params: params}, id)
}

// GetBy is Get with the params of v1.0. The returned task may have another id, because hubs
// know tasks by further names.
func (p *Peer) GetBy(ctx context.Context, params []byte) (Event, error) {
	return p.by(ctx, "get task", dialect.GetTask, params)
}

// CancelBy is Cancel with the params of v1.0, as in GetBy.
func (p *Peer) CancelBy(ctx context.Context, params []byte) (Event, error) {
	return p.by(ctx, "cancel task", dialect.CancelTask, params)
}

func (p *Peer) by(ctx context.Context, name string, op dialect.Operation, params []byte) (Event, error) {
	if err := dialect.CheckAsk(params); err != nil {
		return Event{}, named(err, name)
	}
	return p.task(ctx, name, &ask{op: op, params: params}, "")
}

// task makes a call whose result must be the task with the given id, if id is not empty.
func (p *Peer) task(ctx context.Context, op string, a *ask, id a2a.TaskID) (Event, error) {
	op += " " + text(a.params, "id")
	raw, err := p.quick(ctx, a)
	if raw == nil {
		return Event{}, named(err, op)
	}
	e := NewEvent(append(append([]byte(`{"task":`), raw...), '}'))
	if id != "" && e.TaskID != id {
		return Event{}, named(strange("the answer is task %s", e.TaskID), op)
	}
	return e, named(err, op)
}

// List returns a page of the caller's tasks: params are a ListTasksRequest of v1.0, and the
// result is a ListTasksResponse (specification §3.1.4), without the entries that cannot be read. For dialects without a list the error
// is ErrUnsupported.
func (p *Peer) List(ctx context.Context, params []byte) ([]byte, error) {
	const name = "list tasks"
	if err := dialect.CheckAsk(params); err != nil {
		return nil, named(err, name)
	}
	raw, err := p.quick(ctx, &ask{op: dialect.ListTasks, params: params})
	if raw != nil && isUnreadable(err) {
		p.opts.log().WarnContext(ctx, "agent listed tasks that cannot be read", "agent", p.opts.Name, "reason", err)
		err = nil
	}
	return raw, named(err, name)
}

// quick makes a call with the short timeout, because agents answer it at once.
func (p *Peer) quick(ctx context.Context, a *ask) ([]byte, error) {
	ctx, cancel := bound(ctx, limit(p.opts.Timeout, DefaultTimeout))
	defer cancel()
	return p.call(ctx, a)
}

// call makes a call that has one answer.
func (p *Peer) call(ctx context.Context, a *ask) ([]byte, error) {
	var raw []byte
	ctx, x := p.observe(ctx, a)
	err := p.guarded(ctx, a, func(e *endpoint, s dialect.Shape) (err error) {
		x.over(e, s)
		raw, err = e.call(ctx, s, a)
		return err
	})
	x.end(ctx, err)
	return raw, err
}

// guarded makes a call, with retries, unless the breaker holds it back.
func (p *Peer) guarded(ctx context.Context, a *ask, f func(*endpoint, dialect.Shape) error) error {
	if err := p.breaker.allow(); err != nil {
		return err
	}
	err := veil(&p.opts.Credentials, p.retry(ctx, !a.sends() || p.opts.Idempotent, func() error { return p.try(ctx, a, f) }))
	p.breaker.done(failure(err), ctx.Err() != nil && !errors.Is(err, context.DeadlineExceeded))
	return err
}

// failure reports whether err indicates a failure of the peer, and not of the request.
func failure(err error) bool {
	var agent *transport.Error
	switch {
	case err == nil:
		return false
	case errors.As(err, &agent):
		return agent.Status >= 500 && agent.Code == 0 && !errors.Is(agent.Err, a2a.ErrUnsupportedOperation)
	}
	return !isUnreadable(err) && !errors.Is(err, ErrUnsupported) && !errors.Is(err, transport.ErrCredentials) && !errors.Is(err, ErrNothingLeft) &&
		!errors.Is(err, a2a.ErrInvalidParams)
}

// try calls the endpoints in turn until one can be connected to. If an endpoint has never
// answered and does not know the operation, its address in the card is wrong. A host that could
// not be reached is not tried again at its next endpoint: if it starts in between, it would be
// called in a form that is not its first.
func (p *Peer) try(ctx context.Context, a *ask, f func(*endpoint, dialect.Shape) error) error {
	var last error
	var unreachable []*url.URL
	for _, e := range p.order() {
		if e.base != nil && slices.ContainsFunc(unreachable, func(u *url.URL) bool { return sameOrigin(u, e.base) }) {
			continue
		}
		err := e.try(a, f)
		if err == nil {
			p.worked(e)
			return nil
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if e.base != nil && errors.Is(err, ErrUnreachable) {
			unreachable = append(unreachable, e.base)
		}
		sent := !errors.Is(err, ErrUnreachable) && !errors.Is(err, ErrUnsupported)
		if sent && (e.known() || !unknownOperation(err)) {
			return err
		}
		if last == nil {
			last = err
		}
	}
	return last
}

// try makes a call in each dialect until the peer understands one.
func (e *endpoint) try(a *ask, f func(*endpoint, dialect.Shape) error) error {
	err := e.tryShapes(func(s dialect.Shape) error { return e.tryVerbs(s, a, f) })
	if s := e.spoken(); s == dialect.V03 && (errors.Is(err, ErrUnsupported) || unknownOperation(err)) {
		// Dialects derived from v0.3 have other names for some operations.
		for _, d := range dialect.Added() {
			if !d.Derives(a.op) {
				continue
			}
			if other := f(e, d.Shape); !unknownOperation(other) {
				return other
			}
		}
	}
	return err
}

func (e *endpoint) spoken() dialect.Shape {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.shape
}

// tryVerbs subscribes by POST and then by GET: the specification has both, and servers support
// one of them (specification §11.3.2 and its proto file).
func (e *endpoint) tryVerbs(s dialect.Shape, a *ask, f func(*endpoint, dialect.Shape) error) error {
	err := f(e, s)
	if a.op != dialect.SubscribeToTask || e.iface.ProtocolBinding != a2a.TransportProtocolHTTPJSON || !unknownOperation(err) {
		return err
	}
	e.swap()
	if other := f(e, s); !unknownOperation(other) {
		return other
	}
	e.swap()
	return err
}

// swap changes the verb of subscriptions.
func (e *endpoint) swap() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.byGET = !e.byGET
}
