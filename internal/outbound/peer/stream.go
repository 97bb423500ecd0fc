package peer

import (
	"context"
	"errors"
	"io"
	"iter"
	"sync/atomic"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/internal/dialect"
	"github.com/parley-a2a/parley/internal/outbound/transport"
	"github.com/parley-a2a/parley/internal/telemetry/trace"
)

// Stream sends a message and yields the events of its task until the task has ended or waits
// for the caller (specification §3.1.2), including events after the end. The first event is
// normally a task or a bare message. An agent without streaming yields its answer as the only
// event. A stream that ends early is a *transport.Cut, which Follow resumes. Events that cannot be
// read are skipped; after such a one a stream does not end without an *Unreadable.
func (p *Peer) Stream(ctx context.Context, params []byte) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		r := relay{peer: p, yield: yield}
		if err := r.send(ctx, params); err != nil {
			yield(Event{}, named(err, "stream message"))
		}
	}
}

// Subscribe yields the task in its current state and its events until it has ended
// (specification §3.1.6). With an event id that the peer knows, it yields the events after
// that. For a task that has ended already the error is normally a2a.ErrUnsupportedOperation. A
// stream that ends early is a *transport.Cut.
func (p *Peer) Subscribe(ctx context.Context, at transport.Position) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		r := relay{peer: p, yield: yield}
		if err := r.subscribe(ctx, at); err != nil {
			yield(Event{}, err)
		}
	}
}

// relay passes the events of one stream on.
type relay struct {
	peer  *Peer
	yield func(Event, error) bool

	tell    eventChecker
	at      transport.Position
	events  int
	whole   bool // the answer is not a stream
	stopped bool // the reader broke out
	// unread is why something of the stream could not be read; nil if everything was read.
	unread error
}

// Limits of the events of an agent after its task has ended, in total and between two events.
// Most agents end the stream at once.
const (
	afterEndEvents = 1000
	afterEndFor    = 5 * time.Second
	afterEndPause  = time.Second
)

func (r *relay) subscribe(ctx context.Context, at transport.Position) error {
	r.at, r.tell.task = at, at.Task
	params := withTenant(getParams(at.Task, nil), at.Tenant)
	err := r.run(ctx, &ask{op: dialect.SubscribeToTask, params: params, after: at.EventID})
	return named(err, "subscribe to task "+string(at.Task))
}

// send sends a message and yields the answer: a stream, or a single event if the peer does not
// stream.
func (r *relay) send(ctx context.Context, params []byte) error {
	op := dialect.SendStreamingMessage
	if !r.peer.streams() || r.peer.isStreamless() {
		op = dialect.SendMessage
	}
	a, err := r.peer.sending(op, params)
	if err != nil {
		return err
	}
	err = r.run(ctx, a)
	if err == nil || r.events > 0 || op == dialect.SendMessage || !streamless(err) {
		return err
	}
	if a, err = r.peer.sending(dialect.SendMessage, params); err != nil {
		return err
	}
	if err = r.run(ctx, a); err == nil {
		r.peer.noteStreamless()
	}
	return err
}

// isStreamless reports whether an earlier message has shown that the peer does not stream
// messages, so that each further message is sent once.
func (p *Peer) isStreamless() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.streamless
}

func (p *Peer) noteStreamless() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.streamless = true
}

// streamless reports whether err means that a peer does not stream. Nothing was accepted then.
func streamless(err error) bool {
	return errors.Is(err, a2a.ErrUnsupportedOperation) || errors.Is(err, ErrUnsupported) || unknownOperation(err)
}

// run yields the events of a stream. Its error is nil if the reader broke out or the stream
// ended properly. A call that was certainly not accepted is tried at other endpoints.
func (r *relay) run(ctx context.Context, a *ask) (err error) {
	ctx, x := r.peer.observe(ctx, a)
	defer func() {
		r.peer.count(ctx, trace.StreamingEvents, r.events)
		x.span.Int(trace.Events, r.events)
		x.end(ctx, err)
	}()
	return r.flow(ctx, a, &x)
}

// flow is run without the recording.
func (r *relay) flow(ctx context.Context, a *ask, x *observed) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var f *frames
	open := func(e *endpoint, s dialect.Shape) (err error) {
		x.over(e, s)
		f, err = e.open(ctx, s, a)
		return err
	}
	if err := r.peer.opened(ctx, a, open); err != nil {
		return r.unopened(ctx, err)
	}
	defer f.stop()
	r.whole = f.whole || !a.op.Streaming()
	for {
		frame, id, err := r.next(ctx, f)
		if err == nil {
			err = r.pass(ctx, frame, id)
		}
		switch {
		case err == nil && !r.stopped && r.tell.state.Terminal():
			r.passRest(ctx, f, cancel)
			return r.unread
		case r.stopped, err == nil && (frame.Final || over(r.tell.state)):
			return r.ended(ctx)
		case err != nil:
			r.broke(ctx, err)
			return r.failed(ctx, err)
		}
	}
}

// next returns the next frame of which something can be read.
func (r *relay) next(ctx context.Context, f *frames) (dialect.Frame, string, error) {
	for {
		frame, id, err := f.next()
		if !isUnreadable(err) {
			return frame, id, err
		}
		r.lose(ctx, err)
		if frame.JSON != nil {
			return frame, id, nil
		}
	}
}

// lose records that something of the stream could not be read.
func (r *relay) lose(ctx context.Context, err error) {
	if r.unread != nil {
		return // an agent may send many
	}
	r.unread = err
	r.peer.opts.log().WarnContext(ctx, "agent sent data that cannot be read", append(r.about(ctx), "reason", err)...)
}

// passRest yields the events after the end of the task, such as late artifacts,
// until the stream ends. Errors are ignored.
func (r *relay) passRest(ctx context.Context, f *frames, cancel func()) {
	var late atomic.Bool
	all := time.AfterFunc(afterEndFor, func() {
		late.Store(true)
		cancel()
	})
	pause := time.AfterFunc(afterEndPause, cancel)
	defer all.Stop()
	defer pause.Stop()
	for taken := 0; ; taken++ {
		frame, id, err := r.next(ctx, f)
		switch {
		case err != nil && err != io.EOF && late.Load():
			r.cutRest(ctx, taken)
			return
		case err == nil && taken == afterEndEvents:
			r.cutRest(ctx, taken)
			return
		case err == nil:
			err = r.pass(ctx, frame, id)
		}
		if err != nil || r.stopped {
			r.broke(ctx, err)
			return
		}
		pause.Reset(afterEndPause)
	}
}

// cutRest logs that an agent was not read to the end.
func (r *relay) cutRest(ctx context.Context, taken int) {
	r.peer.opts.log().WarnContext(ctx, "agent continues after the end of its task; the rest of its stream is ignored",
		append(r.about(ctx), "taken", taken)...)
}

// broke logs that a stream has ended with an error, such as an invalid event. A proper end is
// not logged, nor that of a caller that has disconnected.
func (r *relay) broke(ctx context.Context, err error) {
	if err != nil && err != io.EOF && ctx.Err() == nil {
		r.peer.opts.log().DebugContext(ctx, "stream of an agent ends with an error", append(r.about(ctx), "reason", err)...)
	}
}

// about returns log attributes for a stream: the agent, the task of the caller, if the context
// has one, and that of the agent.
func (r *relay) about(ctx context.Context) []any {
	all := []any{"agent", r.peer.opts.Name}
	if id, ok := ctx.Value(taskKey{}).(a2a.TaskID); ok {
		all = append(all, "task", id)
	}
	return append(all, "remote_task", r.at.Task)
}

type taskKey struct{}

// ForTask returns a context whose log records name the task for which a peer is called.
func ForTask(ctx context.Context, id a2a.TaskID) context.Context {
	return context.WithValue(ctx, taskKey{}, id)
}

// opened opens a stream. A subscription is not retried here, because Follow does so.
func (p *Peer) opened(ctx context.Context, a *ask, open func(*endpoint, dialect.Shape) error) error {
	if a.op != dialect.SubscribeToTask {
		return p.guarded(ctx, a, open)
	}
	if err := p.breaker.allow(); err != nil {
		return err
	}
	err := p.try(ctx, a, open)
	// A failed subscription is a try of Follow, which continues to try, and no call of its own.
	p.breaker.done(false, failure(err) || ctx.Err() != nil)
	return err
}

// unopened interprets an error in the place of the first event. A connection that broke after a
// successful status is a cut.
func (r *relay) unopened(ctx context.Context, err error) error {
	var begun *unopened
	if errors.As(err, &begun) && ctx.Err() == nil && broken(begun.err) {
		return r.cut(begun.err)
	}
	return err
}

func (r *relay) pass(ctx context.Context, f dialect.Frame, id string) error {
	e, ok, err := r.tell.take(f, id)
	if err != nil {
		r.lose(ctx, err)
		return nil
	}
	if !ok {
		return nil
	}
	r.events++
	e.Whole = r.whole
	if r.at.Task == "" {
		r.at.Task = e.TaskID
	}
	if !r.yield(e, nil) {
		r.stopped = true
		return nil
	}
	r.at.EventID = id
	return nil
}

// ended returns nil if the stream may end in this state, and a Cut otherwise.
func (r *relay) ended(ctx context.Context) error {
	if r.stopped {
		return nil
	}
	if ctx.Err() == nil && settled(r.tell.state) {
		return r.unread
	}
	return r.cut(r.unread)
}

// failed distinguishes a broken connection from an error of the agent. After the last event of
// a task, errors of the connection are ignored.
func (r *relay) failed(ctx context.Context, err error) error {
	switch {
	case err == io.EOF:
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		return r.ended(ctx)
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case r.events == 0 || !broken(err):
		return err
	case over(r.tell.state):
		return r.unread
	}
	return r.cut(err)
}

func (r *relay) cut(err error) error { return &transport.Cut{Position: r.at, Err: err} }
