package remote

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2asrv"

	"github.com/parley-a2a/parley/agent"
	"github.com/parley-a2a/parley/auth"
	"github.com/parley-a2a/parley/internal/delegation"
	"github.com/parley-a2a/parley/internal/json/rawjson"
	"github.com/parley-a2a/parley/internal/outbound/peer"
	"github.com/parley-a2a/parley/internal/outbound/transport"
	"github.com/parley-a2a/parley/internal/task"
	"github.com/parley-a2a/parley/internal/telemetry/trace"
	"github.com/parley-a2a/parley/internal/wake"
)

// run is one execution for one message.
type run struct {
	agent  *Agent
	caller *auth.Principal
	owner  task.Owner
	ec     *a2asrv.ExecutorContext
	call   *agent.Call
	yield  func(a2a.Event, error) bool
	// messageID is the id of the message at the peer, the same in each execution.
	messageID string
	// earlier is the context in which the peer has performed earlier tasks of this context, if
	// the agent names contexts.
	earlier string

	// references are the ids of the tasks that the message refers to, as the peer knows them.
	references []byte

	relay relay
	state a2a.TaskState
	earlierQuestion
	// held is the final status of the task, kept back until the peer has sent everything; nil
	// if there is none. complete states that it came in the answer of a blocking send.
	held     []byte
	complete bool
	// expired is set once the deadline has passed.
	expired atomic.Bool
	// onward is sent along with the message; nil outside a hub.
	onward *agent.DelegationContext
	// sendErr is why the result of the send, or the state of the task, is unknown, if the run has
	// learned a reason.
	sendErr error
	// canceling is set when the peer is asked to cancel the task, until it refuses to.
	canceling atomic.Bool
	// resent counts how often the message was sent again to an idempotent peer.
	resent int
	callbacks

	// confirmed states that the hub knows which extensions the peer has confirmed.
	confirmed bool

	// known is closed once the peer's task is known, gone when the run is over.
	known, gone chan struct{}

	wait wait

	mu sync.Mutex // guards the field below; besides the run, only wait writes, and only h.Unsent
	h  handle
}

// earlierQuestion is the question that the message answers.
type earlierQuestion struct {
	// asked is that question, until the peer shows something else.
	asked question
	// waiting is the status that shows it after the answer; nil if the last event did not show
	// it. settle is when waiting counts as a new question; zero means never.
	waiting []byte
	settle  time.Time
}

// callbacks are the notifications of the peer.
type callbacks struct {
	// notified is signaled when one arrives; nil without callbacks.
	notified wake.Signal
	// hook is the id of the callback.
	hook string
	// noCallbacks states that the peer refuses to call back.
	noCallbacks bool
}

func (a *Agent) newRun(ctx context.Context, ec *a2asrv.ExecutorContext, yield func(a2a.Event, error) bool) (*run, error) {
	call := agent.CallFrom(ctx)
	if call == nil {
		return nil, errors.New("a remote agent needs a hub, which keeps its checkpoints")
	}
	h, err := decodeHandle(call.Saved)
	if err != nil {
		return nil, err
	}
	r := &run{
		agent: a, caller: auth.PrincipalFrom(ctx), owner: auth.PrincipalFrom(ctx).Owner(), ec: ec, call: call, yield: yield, h: h,
		known: make(chan struct{}), gone: make(chan struct{}),
	}
	r.messageID = derived(idMessage, r.owner, call.Key)
	r.confirms()
	r.relay.restore(call.Task, call.Sealed)
	r.asked = r.asking()
	r.resume()
	if h.Event != "" {
		r.relay.ids = append(r.relay.ids, h.Event)
	}
	if h.Task != "" {
		close(r.known)
	}
	if err := r.refer(ctx); err != nil {
		return nil, err
	}
	return r, r.findEarlierContext(ctx)
}

// name returns the name of the agent for error messages.
func (r *run) name() string { return fmt.Sprintf("agent %q", r.call.Agent) }

// accepted reports whether the peer has certainly accepted the message.
func (r *run) accepted() bool { return r.h.Task != "" && r.h.Key == r.call.Key }

// task returns the id of the peer's task, for other goroutines than the run's.
func (r *run) task() a2a.TaskID {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.h.Task
}

// perform sends the message, or resumes an earlier execution, until the remote task is final or
// waits for the caller.
func (r *run) perform(ctx context.Context) {
	if !r.accepted() {
		var err error
		if r.onward, err = r.call.OutgoingDelegation(ctx); err != nil {
			r.yield(nil, err)
			return
		}
	}
	work, stop := r.within(ctx)
	defer stop()
	defer r.unregisterCallback()
	var done bool
	switch {
	case r.accepted():
		done = r.follow(work)
	case r.call.Attempt > 1 && r.h.Unsent == "":
		done = r.find(work)
	default:
		done = r.send(work)
	}
	if !done && r.expired.Load() && ctx.Err() == nil {
		r.timeout(ctx)
	}
}

// within returns a context for calls to the peer. It ends with ctx, and at the deadline. Its
// end does not cancel the remote task.
func (r *run) within(ctx context.Context) (context.Context, func()) {
	work, cancel := context.WithCancelCause(trace.WithIDs(context.WithoutCancel(ctx), r.traceIDs(ctx)))
	work = peer.ForTask(r.naming(work), r.ec.TaskID)
	if r.onward != nil {
		work = delegation.With(work, (*delegation.Context)(r.onward))
	}
	detach := context.AfterFunc(ctx, func() { cancel(peer.ErrDetached) })
	r.setDeadline()
	expire := func() {}
	if r.h.Deadline != 0 {
		timer := time.AfterFunc(time.Until(r.h.deadline()), func() {
			r.expired.Store(true)
			cancel(peer.ErrDetached)
		})
		expire = func() { timer.Stop() }
	}
	return work, func() {
		detach()
		expire()
		cancel(peer.ErrDetached)
	}
}

// setDeadline sets the deadline of a message that has none yet. A waiting message keeps the
// deadline of the execution in which the wait began.
func (r *run) setDeadline() {
	if r.accepted() || r.h.Unsent != "" {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.h.Deadline, r.h.Theirs = 0, false
	if d := r.agent.timeout(); d > 0 {
		r.h.Deadline = time.Now().Add(d).UnixMilli()
	}
	if r.onward == nil || r.onward.Deadline.IsZero() {
		return
	}
	if at := r.onward.Deadline.UnixMilli(); r.h.Deadline == 0 || at < r.h.Deadline {
		r.h.Deadline, r.h.Theirs = at, true
	}
}

// How often and how long an agent is retried that has not received anything. Tries are
// connectEvery apart, or up to a second less, so that a restarting agent has time to come up.
const (
	connectTries  = 3
	connectEvery  = 3 * time.Second
	connectWithin = 10 * time.Second
)

// send sends the message until the peer has received it. Like all steps it reports whether the
// run is over; false means that the deadline has passed.
func (r *run) send(ctx context.Context) bool {
	ctx, stop := r.awaiting(ctx)
	defer stop()
	began := time.Now()
	for try := 1; ; try++ {
		done, err := r.sendOnce(ctx)
		switch {
		case done:
			return true
		case ctx.Err() != nil && !r.accepted() && notReceived(err):
			return r.expired.Load() && r.fail(unreachableReason(err))
		case ctx.Err() != nil && !r.accepted() && r.h.Task == "":
			return r.expired.Load() && r.fail("did not answer in time; it is unknown whether it accepted the message")
		case ctx.Err() != nil:
			return false
		case r.accepted():
			return r.follow(ctx)
		case withoutIdentity(err):
			return r.fail(unreachableReason(err))
		case err == nil && r.h.Task != "":
			return r.recordAccepted() || r.follow(ctx)
		case !notReceived(err):
			return r.unaccepted(ctx, err)
		case !r.agent.Awaited && !retryable(err, began, try):
			return r.fail(unreachableReason(err))
		}
		r.startWaiting(ctx)
		if !pause(ctx, untilRetry(began, err, try)) {
			return r.expired.Load() && r.fail(unreachableReason(err))
		}
	}
}

// unreachableReason returns the reason why an agent has received nothing.
func unreachableReason(err error) string {
	var u *transport.IdentityError
	if errors.As(err, &u) {
		return u.Error()
	}
	if errors.Is(err, peer.ErrDetached) {
		return "is not reachable: it timed out before there was a connection"
	}
	return "is not reachable: " + reason(err)
}

// withoutIdentity reports whether the caller's identity cannot be sent to the agent, now or later.
func withoutIdentity(err error) bool {
	return errors.As(err, new(*transport.IdentityError)) && !errors.Is(err, peer.ErrUnreachable)
}

// notReceived reports whether an agent has certainly received nothing of a message.
func notReceived(err error) bool {
	return errors.Is(err, peer.ErrUnreachable) || errors.As(err, new(*cardError)) && !refused(err)
}

// retryable reports whether an agent that has received nothing is tried again. A send already
// includes several tries, and is repeated once. Calls that the circuit breaker holds back are
// not retried.
func retryable(err error, began time.Time, try int) bool {
	switch {
	case try == connectTries, time.Since(began) > connectWithin, errors.Is(err, peer.ErrOpen):
		return false
	}
	return !errors.Is(err, errSend) || try == 1
}

// untilRetry returns the time to wait after a failed try. A send, which has been tried for some
// seconds, waits until the time of the last try.
func untilRetry(began time.Time, err error, try int) time.Duration {
	if errors.Is(err, errSend) {
		try = connectTries - 1
	}
	at := began.Add(time.Duration(try)*connectEvery - rand.N(time.Second))
	return max(time.Until(at), retryGap(try))
}

// unaccepted handles a send that has failed although something may have arrived.
func (r *run) unaccepted(ctx context.Context, err error) bool {
	if err == nil {
		return r.fail("did not answer")
	}
	if errors.Is(err, a2a.ErrUnsupportedOperation) && r.h.Task != "" {
		// The remote task may have failed with this message, without a report. A task that is
		// completed without the message is no answer to it.
		if p, _ := r.agent.peer(ctx); p != nil {
			if found, _ := r.continued(ctx, p); found != nil && found.State != a2a.TaskStateCompleted {
				return r.passOne(ctx, found) || r.follow(ctx)
			}
		}
	}
	switch {
	case unreadable(err):
		return r.failUnread(err)
	case refused(err) || rejected(err):
		return r.refuse(err)
	}
	r.recordError(err)
	r.agent.logger().Info("outcome of a send is unknown", "agent", r.call.Agent, "task", r.ec.TaskID, "error", err)
	return r.find(ctx)
}

// recordError keeps why the outcome of the message is unknown. An error that the agent
// has answered counts more than one of the connection.
func (r *run) recordError(err error) {
	if r.sendErr == nil || answeredError(err) {
		r.sendErr = err
	}
}

// saidWhy reports whether sendErr has the words of the agent, or of a server in front of it.
func (r *run) saidWhy() bool { return errors.As(r.sendErr, new(*transport.Error)) }

// answeredError reports whether err is the answer of the agent itself, and not of a server in
// front of it: an error of the protocol with its words.
func answeredError(err error) bool {
	var e *transport.Error
	return errors.As(err, &e) && e.Message != "" && (e.Code != 0 || e.Reason != "")
}

// recordAccepted records that the peer has accepted a message, although it shows nothing new yet.
func (r *run) recordAccepted() (over bool) {
	r.mu.Lock()
	r.h.Key = r.call.Key
	r.mu.Unlock()
	return !r.remember()
}

// sendOnce sends the message and passes on the answer.
func (r *run) sendOnce(ctx context.Context) (done bool, err error) {
	p, err := r.agent.peer(ctx)
	if err != nil {
		return false, &cardError{err}
	}
	if r.canCallBack(p) {
		return r.sendWithCallback(ctx, p)
	}
	done, err = r.sendWithoutCallback(ctx, p)
	if errors.Is(err, peer.ErrUnreachable) {
		err = fmt.Errorf("%w: %w", errSend, err) // the send was tried several times
	}
	return done, err
}

// errSend marks errors of a send, as opposed to those of the card before it.
var errSend = errors.New("send message")

// cardError is a failure to get the card that a send needs: the agent has received nothing.
type cardError struct{ error }

func (e *cardError) Unwrap() error { return e.error }

// sendWithoutCallback sends the message to a peer that does not call back.
func (r *run) sendWithoutCallback(ctx context.Context, p *peerConnection) (done bool, err error) {
	last, done, err := r.pass(ctx, p.Run(ctx, r.params(nil)))
	if done || err != nil {
		return done, err
	}
	return r.answered(ctx, p, last), nil
}

// pass passes events on until they end or the run is over. It returns the last one.
func (r *run) pass(ctx context.Context, events iter.Seq2[peer.Event, error]) (last *peer.Event, done bool, err error) {
	for ev, err := range events {
		switch {
		case unreadable(err):
			return last, r.failUnread(err), nil
		case err != nil && r.held == nil:
			r.recordError(err)
			return last, false, err
		}
		if err == nil && r.deliver(&ev) {
			return last, true, nil
		}
		last = &ev
	}
	return last, r.finish(ctx), nil
}

// passOne passes a single event on.
func (r *run) passOne(ctx context.Context, ev *peer.Event) (done bool) {
	return r.deliver(ev) || r.finish(ctx)
}

// deliver passes an event on; it reports whether the run is over. At the end of the task the
// run continues until finish is called, because the peer may send more.
func (r *run) deliver(ev *peer.Event) (done bool) {
	if ev.State != "" {
		if _, ok := task.ParseState(string(ev.State)); !ok {
			return r.fail(fmt.Sprintf("is in an unknown state: %q", ev.State))
		}
		r.state = ev.State
	}
	stale := r.stale(ev)
	news, err := r.relay.take(ev, stale)
	if err != nil {
		return r.fail("broke the protocol: " + reason(err))
	}
	r.noteNews(len(news))
	changed, moved := r.note(ev, stale, len(news) > 0)
	if r.agent.NoContext && ev.Kind == peer.Message && ev.ContextID != "" {
		r.agent.named.put(contextKey{r.owner, r.ec.ContextID}, ev.ContextID)
	}
	if ev.State.Terminal() {
		news = r.hold(ev, news)
	}
	for i, json := range news {
		if i == len(news)-1 && (changed || moved) && !r.checkpoint() {
			return true
		}
		if !r.yield(&agent.Raw{JSON: json}, nil) {
			return true
		}
	}
	if len(news) == 0 && changed && !r.remember() {
		return true
	}
	switch {
	case ev.Kind == peer.Message:
		return true
	case ev.State == a2a.TaskStateInputRequired && !stale:
		return hasStatus(news) || r.repeatQuestion()
	}
	return false
}

// hasStatus reports whether the last of the events to pass on is a status.
func hasStatus(news [][]byte) bool {
	return len(news) > 0 && member(bodyOf(news[len(news)-1]), "status") != nil
}

// note records the position of the run after an event, which may have brought news. It reports
// whether a change warrants a checkpoint of its own, and whether the position in the stream has
// changed.
func (r *run) note(ev *peer.Event, stale, news bool) (changed, moved bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if ev.TaskID != "" && r.h.Task == "" && ev.Kind != peer.Message {
		r.h.Task, changed = ev.TaskID, true
		close(r.known)
	}
	// A task belongs to one context, whatever its agent sends later.
	if ev.ContextID != "" && r.h.Context != ev.ContextID && (r.h.Context == "" || changed) {
		r.h.Context, changed = ev.ContextID, true
	}
	if !stale && r.h.Task != "" && r.h.Key != r.call.Key {
		r.h.Key, changed = r.call.Key, true
	}
	if q := r.question(member(ev.Body(), "status")); ev.State != "" && !stale && q != r.h.Asked {
		r.h.Asked, moved = q, true
	}
	// After news without a position, the next stream begins with the whole task: from the last known
	// position it would repeat them.
	if r.h.Event != ev.ID && (ev.ID != "" || news) {
		r.h.Event, moved = ev.ID, true
	}
	return changed, moved
}

// checkpoint stores the position of the run together with the next event.
func (r *run) checkpoint() bool {
	r.mu.Lock()
	blob := r.h.encode()
	r.mu.Unlock()
	return r.call.Checkpoint(blob) == nil || !r.fail("sent ids that are too long")
}

// noChange is an event that changes nothing.
var noChange = []byte(`{"statusUpdate":{"status":{"state":"TASK_STATE_SUBMITTED"}}}`)

// remember stores the position of the run although no event follows.
func (r *run) remember() bool {
	return r.checkpoint() && r.yield(&agent.Raw{JSON: noChange}, nil)
}

// fail ends the task with a reason for its caller.
func (r *run) fail(what string) bool {
	r.agent.logger().Warn("remote task failed", "agent", r.call.Agent, "task", r.ec.TaskID, "reason", what)
	r.end(statusWithText(a2a.TaskStateFailed, r.name()+" "+r.worded(what)))
	return true
}

// unreadable reports whether err is about an answer of the agent that will never be readable.
func unreadable(err error) bool { return errors.As(err, new(*peer.Unreadable)) }

// failUnread ends a task of whose answer something cannot be read.
func (r *run) failUnread(err error) bool {
	what := "sent an unreadable answer: " + reason(err)
	if r.agent.Broke != nil {
		r.agent.Broke(what)
	}
	return r.fail(what)
}

func statusWithText(state a2a.TaskState, text string) []byte {
	b := rawjson.AppendString([]byte(`{"state":`), string(state))
	b = append(b, `,"message":{"role":"ROLE_AGENT","parts":[`...)
	b = append(b, textPart(text)...)
	return statusUpdate(append(b, `]}}`...), nil)
}
