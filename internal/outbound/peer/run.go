package peer

import (
	"bytes"
	"context"
	"errors"
	"iter"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/internal/backoff"
	"github.com/parley-a2a/parley/internal/json/rawjson"
	"github.com/parley-a2a/parley/internal/outbound/card"
	"github.com/parley-a2a/parley/internal/outbound/transport"
	"github.com/parley-a2a/parley/internal/telemetry/trace"
)

// Pauses are the times that Follow waits before it resumes a broken stream: four seconds in
// all, enough for a server to restart.
var Pauses = []time.Duration{0, 100 * time.Millisecond, 300 * time.Millisecond, 900 * time.Millisecond, 2700 * time.Millisecond}

// Run sends a message and yields the events of its task until the task has ended or waits for
// the caller, with the means that the peer offers. It streams if the peer does; otherwise it
// sends and waits for the answer. A task that is not finished then is followed as by Follow.
// The message is resent only if it was certainly not accepted.
//
// Events that an agent sends after the end of its task are yielded after that end, as long as
// the agent leaves the stream open and for a few seconds at most.
//
// Events that cannot be read are skipped, and the task is read whole after them. If that does not
// bring everything either, the error is an *Unreadable.
//
// A Task event replaces all events before it. If ctx ends, the remote task is canceled; see
// ErrDetached. Breaking out of the loop does not affect it.
func (p *Peer) Run(ctx context.Context, params []byte) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		r := newRunner(p, yield)
		r.drive(ctx, func(ctx context.Context) error { return r.begin(ctx, params) })
	}
}

// Follow yields the events of a task after a position until the task has ended or waits for the
// caller. It subscribes, and resumes broken streams. If the peer does not stream, or its task
// has ended, it polls the task, and yields it whenever it has changed. With an event id that
// the peer knows, the first event is the one after it, and otherwise the task in its current
// state.
//
// If ctx ends, the remote task is canceled; see ErrDetached.
func (p *Peer) Follow(ctx context.Context, at transport.Position) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		r := newRunner(p, yield)
		r.at = at
		r.drive(ctx, r.follow)
	}
}

// maxMisses is how many consecutive polls of a task may fail.
const maxMisses = 10

// runner follows one task with all means.
type runner struct {
	peer  *Peer
	yield func(Event, error) bool

	at    transport.Position
	state a2a.TaskState
	asked a2a.TaskID // the task that the message continues
	// question is the status of that task before the answer, if the peer showed it.
	question []byte
	asking   bool   // no event since then has shown a status
	last     []byte // the task that was yielded last, by polling
	done     bool   // the reader broke out, or no events remain
	left     bool   // the reader broke out
	unread   error  // why something was not read; nil after the task was read whole
	news     bool   // an event has arrived since news was reset
	started  bool   // an event has arrived
	misses   int    // consecutive failed polls
}

func newRunner(p *Peer, yield func(Event, error) bool) *runner { return &runner{peer: p, yield: yield} }

// drive runs f within the deadline, and cancels the remote task if it was aborted.
func (r *runner) drive(ctx context.Context, f func(context.Context) error) {
	bounded, cancel := bound(ctx, limit(r.peer.opts.Deadline, DefaultDeadline))
	defer cancel()
	err := f(bounded)
	switch {
	case r.left:
		return
	case (r.done || err == nil) && r.unread != nil:
		err = r.reread(bounded)
	case r.done:
		return
	}
	if err == nil || r.left {
		return
	}
	if bounded.Err() != nil {
		err = context.Cause(bounded)
		r.abandon(bounded)
	}
	r.yield(Event{}, named(err, r.op()))
}

// reread reads a task whole, of whose events some could not be read.
func (r *runner) reread(ctx context.Context) error {
	if r.at.Task == "" || r.state == answered {
		return r.unread
	}
	e, err := r.peer.Get(ctx, r.at.Task, r.peer.opts.Poll.HistoryLength)
	if e.JSON != nil {
		r.take(e, nil)
	}
	switch {
	case err == nil:
		return nil
	case isUnreadable(err):
		return err
	}
	return r.unread
}

func (r *runner) op() string {
	if r.at.Task == "" {
		return "run message"
	}
	return "follow task " + string(r.at.Task)
}

func (r *runner) abandon(ctx context.Context) {
	if r.peer.opts.Detach || errors.Is(context.Cause(ctx), ErrDetached) || r.at.Task == "" || over(r.state) {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cancelTimeout)
	defer cancel()
	if _, err := r.peer.Cancel(ctx, r.at.Task, nil); err != nil {
		r.peer.opts.log().Warn("the remote task of an aborted call could not be canceled",
			"agent", r.peer.opts.Name, "task", string(r.at.Task), "error", err)
	}
}

// begin sends the message, and follows its task if the answer is not the end of it.
func (r *runner) begin(ctx context.Context, params []byte) error {
	r.asked = a2a.TaskID(text(rawjson.Member(params, "message"), "taskId"))
	stream := relay{peer: r.peer, yield: r.take}
	err := r.after(&stream, stream.send(ctx, params))
	var cut *transport.Cut
	switch {
	case r.done:
		return nil
	case errors.As(err, &cut) && r.at.Task != "":
	case err != nil:
		return err
	case r.unread != nil && r.at.Task == "":
		return r.unread
	}
	if settled(r.state) && !(r.asking && cut != nil) {
		return nil
	}
	return r.follow(ctx)
}

// after keeps the unread part of a stream, which is no error as long as the task can be read
// whole.
func (r *runner) after(stream *relay, err error) error {
	unread := stream.unread
	if isUnreadable(err) && !errors.Is(err, transport.ErrCut) {
		unread, err = err, nil
	}
	if r.unread == nil {
		r.unread = unread
	}
	return err
}

// streams reports whether the peer streams according to its card, over a binding that can.
func (p *Peer) streams() bool {
	return p.card.A2A.Capabilities.Streaming && p.Interface().ProtocolBinding != card.TaskSend
}

// take yields an event. It reports whether the stream continues.
func (r *runner) take(e Event, err error) bool {
	if err != nil {
		return true
	}
	first := !r.started
	r.note(&e)
	if r.last = nil; e.Kind == Task {
		r.last = e.JSON
	}
	if !r.yield(e, nil) {
		r.done, r.left = true, true
		return false
	}
	r.at.EventID = e.ID
	if r.ends(&e, first) {
		r.done = true
		return false
	}
	return true
}

func (r *runner) note(e *Event) {
	if r.at.Task == "" || e.Kind == Task {
		r.at.Task = e.TaskID
	}
	r.news = r.news || e.Kind != Task || !r.started
	r.started = true
	switch {
	case e.Kind == Message:
		r.state = answered
	case e.State != "":
		r.state, r.asking = e.State, false
	}
}

// ends reports whether the caller need not wait for further events. The first event in the
// stream of a follow-up may still show the question that is being answered.
func (r *runner) ends(e *Event, first bool) bool {
	if e.Kind == Message {
		return true
	}
	if !Interrupted(e.State) {
		return false
	}
	status := rawjson.Member(e.Body(), "status")
	if first && r.asked != "" && r.asked == e.TaskID {
		r.question, r.asking = bytes.Clone(status), true
		return false
	}
	return r.question == nil || !bytes.Equal(r.question, status)
}

// follow subscribes until the task is settled, and polls it if the peer has no subscriptions.
func (r *runner) follow(ctx context.Context) error {
	for tries := 0; ; {
		r.news = false
		err := r.watch(ctx)
		if r.done || err == nil {
			return nil
		}
		if errors.Is(err, ErrNothingLeft) || Refused(err) || errors.Is(err, ErrUnsupported) {
			if r.peer.streams() {
				r.peer.count(ctx, trace.SubscribeFallbacks, 1)
			}
			return r.loop(ctx, pollSpan, r.poll)
		}
		if r.news {
			tries = 0
		}
		if tries == len(Pauses) || !Passing(err) {
			return err
		}
		if err := backoff.Sleep(ctx, Pauses[tries]); err != nil {
			return err
		}
		tries++
	}
}

// watch follows one stream to its end.
func (r *runner) watch(ctx context.Context) error {
	if !r.peer.streams() {
		return ErrUnsupported
	}
	err := r.loop(ctx, subscribeSpan, func(ctx context.Context) error {
		stream := relay{peer: r.peer, yield: r.take}
		return r.after(&stream, stream.subscribe(ctx, r.at))
	})
	if err == nil && !r.done && !over(r.state) && !Interrupted(r.state) {
		return &transport.Cut{Position: r.at}
	}
	return err
}

// poll polls the task until it is settled.
func (r *runner) poll(ctx context.Context) error {
	o := &r.peer.opts.Poll
	pause, last := o.Interval, o.Interval
	if o.Interval <= 0 {
		pause, last = limit(o.Initial, DefaultPollInitial), limit(o.Max, DefaultPollMax)
	}
	for first := true; ; first = false {
		if !first || r.last != nil {
			if err := backoff.Sleep(ctx, pause); err != nil {
				return err
			}
			pause = min(2*pause, max(last, pause))
		}
		if o.Interval > 0 {
			pause = o.Interval
		}
		if err := r.look(ctx); err != nil || r.done {
			return err
		}
	}
}

// look reads the task once and yields it if it has changed. Temporary errors are left to the
// next poll; the deadline bounds all of them. So is a task in progress that cannot be read whole.
func (r *runner) look(ctx context.Context) error {
	r.peer.count(ctx, trace.PollingAttempts, 1)
	e, err := r.peer.Get(ctx, r.at.Task, r.peer.opts.Poll.HistoryLength)
	r.unread = nil
	if isUnreadable(err) && e.JSON != nil {
		r.unread, err = err, nil
	}
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case err != nil && Passing(err) && r.misses < maxMisses:
		r.misses++
		return nil
	case err != nil:
		return err
	}
	r.misses = 0
	if bytes.Equal(r.last, e.JSON) {
		return nil
	}
	r.take(e, nil)
	r.done = r.done || over(r.state)
	return nil
}
