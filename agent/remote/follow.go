package remote

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"sync"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/internal/backoff"
	"github.com/parley-a2a/parley/internal/json/rawjson"
	"github.com/parley-a2a/parley/internal/outbound/peer"
	"github.com/parley-a2a/parley/internal/outbound/transport"
)

// errAsked ends a poll of a task whose caller has sent a further message.
var errAsked = errors.New("a message from the caller is waiting")

// follow passes on the progress of the peer's task, over as many connections as necessary. A
// task that waits for something else than a message is followed until the caller sends one.
func (r *run) follow(ctx context.Context) bool {
	for failures, looks := 0, 0; ; {
		before := r.relay.status
		done, waits, err := r.followAsked(ctx, looks)
		if err != nil {
			r.unsettle()
		}
		switch {
		case done:
			return true
		case ctx.Err() != nil:
			return false
		case errors.Is(err, errAsked):
			return true
		case taskUnknown(err):
			// Some peers forget the tasks that they cancel.
			if !r.canceling.Load() {
				return r.fail("has lost the task: " + reason(err))
			}
			r.end(statusUpdate([]byte(`{"state":"TASK_STATE_CANCELED"}`), nil))
			return true
		case refused(err):
			return r.fail("refused to report on the task: " + reason(err))
		case withoutIdentity(err):
			return r.fail(unreachableReason(err))
		case unreadable(err):
			return r.failUnread(err)
		case r.settled() && r.passRepeatedQuestion():
			return true
		}
		if before != r.relay.status {
			failures, looks = 0, 0
		}
		if waits {
			looks++
			continue
		}
		failures++
		if err != nil {
			r.recordError(err)
			r.agent.logger().Debug("remote task cannot be followed", "agent", r.call.Agent, "task", r.ec.TaskID, "error", err)
		}
		if !pause(ctx, r.untilSettled(r.gap(failures))) {
			return false
		}
	}
}

// gap returns the time to wait after a poll that did not bring the end of the task.
func (r *run) gap(looks int) time.Duration {
	if r.waiting != nil && r.agent.Poll > 0 {
		return r.agent.Poll
	}
	return retryGap(looks)
}

// followAsked follows the task until the connection ends. It reports in waits whether it has
// paused after a poll without progress.
func (r *run) followAsked(ctx context.Context, looks int) (done, waits bool, err error) {
	if r.state != a2a.TaskStateAuthRequired {
		done, err = r.followOnce(ctx)
		return done, false, err
	}
	ctx, stop := r.untilAsked(ctx)
	defer stop()
	if done, err = r.followOnce(ctx); !done && err == nil && r.waiting == nil {
		waits = pause(ctx, r.agent.poll(looks))
	}
	if !done && errors.Is(context.Cause(ctx), errAsked) {
		return false, false, errAsked
	}
	return done, waits, err
}

// untilAsked returns a context that ends with errAsked when a message of the caller waits for
// the end of the run.
func (r *run) untilAsked(ctx context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	var watcher sync.WaitGroup
	watcher.Go(func() {
		select {
		case <-r.call.MessageWaiting():
			cancel(errAsked)
		case <-ctx.Done():
		}
	})
	return ctx, func() {
		cancel(nil)
		watcher.Wait()
	}
}

// followOnce follows the task until the connection ends.
func (r *run) followOnce(ctx context.Context) (done bool, err error) {
	p, err := r.agent.peer(ctx)
	if err != nil {
		return false, err
	}
	if r.canCallBack(p) {
		return r.awaitCallbacks(ctx, p)
	}
	_, done, err = r.pass(ctx, p.Follow(ctx, transport.Position{Task: r.h.Task, EventID: r.h.Event}))
	return done, err
}

// look reads the task and passes on the result.
func (r *run) look(ctx context.Context, p *peerConnection) (done bool, err error) {
	ev, err := p.Get(ctx, r.h.Task, r.agent.HistoryLength)
	return r.passRead(ctx, &ev, err)
}

// passRead passes on what could be read of an answer. A task that is over fails if something
// could not.
func (r *run) passRead(ctx context.Context, ev *peer.Event, err error) (done bool, _ error) {
	switch {
	case err == nil:
		return r.passOne(ctx, ev), nil
	case ev.JSON == nil:
		return false, err
	case r.deliver(ev):
		return true, nil
	case ev.State.Terminal():
		return r.failUnread(err), nil
	}
	return false, nil
}

// find determines whether the peer has accepted a message that an earlier execution, or a send
// that failed midway, may have delivered.
func (r *run) find(ctx context.Context) bool {
	for tries := 1; ; tries++ {
		found, err := r.findOnce(ctx)
		switch {
		case found != nil:
			return r.passOne(ctx, found) || r.follow(ctx)
		case ctx.Err() != nil:
			return r.expired.Load() && r.fail("did not confirm in time whether it accepted the message"+r.sendReason())
		case withoutIdentity(err):
			return r.fail(unreachableReason(err) + "; it is unknown whether it has accepted the message")
		case unreadable(err):
			return r.failUnread(err)
		case err == nil, refused(err), taskUnknown(err), errors.Is(err, a2a.ErrUnsupportedOperation),
			tries >= findTries && !peer.Passing(err):
			return r.handleUnknownOutcome(ctx)
		}
		if !pause(ctx, retryGap(tries)) {
			return r.expired.Load() && r.fail("did not confirm in time whether it accepted the message"+r.sendReason())
		}
	}
}

// findTries is how often an agent is queried about a message if its responses are invalid.
const findTries = 5

// sendReason returns why the outcome is unknown, as the end of a sentence.
func (r *run) sendReason() string {
	if r.sendErr == nil {
		return ""
	}
	return ": " + reason(r.sendErr)
}

// resends is how often a message is resent to an idempotent agent before the task fails: the
// connection may break each time. With growing pauses this is about half a minute, so that an agent
// that is restarted again and again does not lose the message.
const resends = 10

// handleUnknownOutcome resends the message if the agent is idempotent, and else ends the run.
func (r *run) handleUnknownOutcome(ctx context.Context) bool {
	switch {
	case r.agent.Idempotent && r.resent < resends:
		if r.resent++; r.resent > 1 && !pause(ctx, retryGap(r.resent-1)) {
			return r.expired.Load() && r.fail("could not be reached in time"+r.sendReason())
		}
		return r.send(ctx)
	case peer.Interrupted(r.state):
		return r.repeatQuestion() // the task waits, and does not have the answer
	case answeredError(r.sendErr):
		return r.fail(failedWith(r.sendErr))
	case r.h.Task != "":
		return r.fail("may or may not have accepted the answer" + r.sendReason())
	}
	return r.fail("may or may not have accepted the message" + r.sendReason())
}

// failedWith returns the reason of a failure about which the agent has given an error: its words.
func failedWith(err error) string {
	var e *transport.Error
	if errors.As(err, &e) {
		err = e
	}
	return "failed: " + reason(err)
}

// findOnce searches the peer for the message: in its task, or in the tasks of its context.
func (r *run) findOnce(ctx context.Context) (*peer.Event, error) {
	p, err := r.agent.peer(ctx)
	if err != nil {
		return nil, err
	}
	if r.h.Task == "" {
		return r.search(ctx, p)
	}
	found, err := r.withMessage(ctx, p, r.h.Task)
	if found == nil && err == nil {
		return r.continued(ctx, p)
	}
	return found, err
}

// continued returns the task of a further message that is missing in its history, if the task
// does not wait for a message any more.
func (r *run) continued(ctx context.Context, p *peerConnection) (*peer.Event, error) {
	ev, err := p.Get(ctx, r.h.Task, nil)
	if err != nil {
		return nil, err
	}
	if r.state = ev.State; peer.Interrupted(ev.State) {
		return nil, nil
	}
	return &ev, nil
}

// search searches for the message in the newest tasks of its context, or of all contexts if the
// peer was to name the context.
func (r *run) search(ctx context.Context, p *peerConnection) (*peer.Event, error) {
	params := []byte(`{"pageSize":50`)
	if id := r.freshContext(); id != "" {
		params = rawjson.AppendString(append(params, `,"contextId":`...), id)
	}
	page, err := p.List(ctx, append(params, '}'))
	if err != nil {
		return nil, err
	}
	for t := range rawjson.Elements(member(page, "tasks")) {
		found, err := r.withMessage(ctx, p, a2a.TaskID(text(t, "id")))
		if found != nil || err != nil && !taskUnknown(err) {
			return found, err
		}
	}
	return nil, nil
}

// withMessage returns the task with the given id if its history has the message.
func (r *run) withMessage(ctx context.Context, p *peerConnection, id a2a.TaskID) (*peer.Event, error) {
	ev, err := p.Get(ctx, id, nil)
	if err != nil {
		return nil, err
	}
	for m := range rawjson.Elements(member(ev.Body(), "history")) {
		if text(m, "messageId") == r.messageID {
			return &ev, nil
		}
	}
	return nil, nil
}

// timeout ends the task at its deadline, remotely and locally. A task that waits for a person
// continues to wait, because a permission or an answer may take long.
func (r *run) timeout(ctx context.Context) {
	switch {
	case r.state == a2a.TaskStateAuthRequired:
		return
	case r.state == a2a.TaskStateInputRequired:
		r.repeatQuestion()
		return
	}
	if r.h.Task != "" {
		ctx, stop := context.WithTimeout(ctx, cancelWithin)
		defer stop()
		p, err := r.agent.peer(ctx)
		if err == nil {
			_, err = p.Cancel(ctx, r.h.Task, nil)
		}
		if err != nil {
			r.agent.logger().Warn("remote task was not canceled at its deadline", "agent", r.call.Agent, "task", r.ec.TaskID, "error", err)
		}
	}
	if r.h.Theirs {
		r.fail("did not answer before the deadline " + r.h.deadline().UTC().Format(time.RFC3339) + " of this work" + r.sendReason())
		return
	}
	r.fail(fmt.Sprintf("did not answer within %v", r.agent.timeout()) + r.sendReason())
}

// cancelWithin is how long the cancellation at a deadline may take.
const cancelWithin = 5 * time.Second

// refuse ends a task whose message the peer does not accept. Errors that the caller caused are
// returned as errors of the protocol.
func (r *run) refuse(err error) bool {
	for _, sentinel := range []error{
		a2a.ErrInvalidParams, a2a.ErrInvalidRequest, a2a.ErrUnsupportedContentType, a2a.ErrUnsupportedOperation,
		a2a.ErrExtensionSupportRequired,
	} {
		if errors.Is(err, sentinel) {
			r.yield(nil, a2a.NewError(sentinel, r.name()+": "+r.worded(reason(err))))
			return true
		}
	}
	if errors.Is(err, a2a.ErrUnauthenticated) || errors.Is(err, a2a.ErrUnauthorized) {
		return r.fail("rejected the hub's credentials: " + reason(err))
	}
	return r.fail("rejected the message: " + reason(err))
}

// refused reports whether err is a permanent error from the agent, which a retry does not
// change.
func refused(err error) bool {
	var e *transport.Error
	if !errors.As(err, &e) {
		return false
	}
	switch e.Status {
	case 408, 429, 500, 502, 503, 504:
		return false
	}
	return !errors.Is(err, a2a.ErrInternalError) && !errors.Is(err, a2a.ErrServerError)
}

// rejected reports whether err, of a send, is an answer by which the agent has not accepted the
// message: that of an overloaded agent, or any error of the client but a timeout, also without an
// error of the protocol. Some servers answer so for an agent that they do not have.
func rejected(err error) bool {
	var e *transport.Error
	if !errors.As(err, &e) || e.Status == http.StatusRequestTimeout {
		return false
	}
	return e.Status >= 400 && e.Status < 500 || e.Status == http.StatusServiceUnavailable
}

// taskUnknown reports whether the peer does not know the task.
func taskUnknown(err error) bool { return errors.Is(err, a2a.ErrTaskNotFound) }

// reason returns the text of err for the caller, shortened.
func reason(err error) string {
	if err == nil {
		return "it gave no reason"
	}
	const most = 300
	s := err.Error()
	if len(s) > most {
		s = s[:most] + "…"
	}
	return s
}

// retryGap returns the time to wait after a number of failures: a quarter of a second, doubling
// up to five seconds, of which up to half is subtracted at random.
func retryGap(failures int) time.Duration {
	d := min(250*time.Millisecond<<min(failures-1, 10), 5*time.Second)
	return d - rand.N(d/2)
}

// pause waits for d; it reports whether ctx is still active.
func pause(ctx context.Context, d time.Duration) bool { return backoff.Sleep(ctx, d) == nil }

// poll returns the time before the next poll, after tries polls.
func (a *Agent) poll(tries int) time.Duration {
	if a.Poll > 0 {
		return a.Poll
	}
	first, last := a.PollInitial, a.PollMax
	if first <= 0 {
		first = peer.DefaultPollInitial
	}
	if last <= 0 {
		last = peer.DefaultPollMax
	}
	for range tries {
		if first >= last {
			break
		}
		first *= 2
	}
	return min(first, max(last, a.PollInitial))
}
