package queue

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2asrv"

	"github.com/parley-a2a/parley/agent"
	"github.com/parley-a2a/parley/internal/bus"
	"github.com/parley-a2a/parley/internal/bus/protocol"
	"github.com/parley-a2a/parley/internal/execution"
	"github.com/parley-a2a/parley/internal/task"
)

// run is one execution for one message. Except for mail and gone, its fields belong to the
// goroutine of perform.
type run struct {
	// d is the Dispatcher of the hub whose work the worker has received, and release releases it.
	d       *Dispatcher
	release func()

	ctx   context.Context
	key   taskKey
	ec    *a2asrv.ExecutorContext
	call  *agent.Call
	yield func(a2a.Event, error) bool
	// name is that of the agent on the bus.
	name task.Agent
	mail *mailbox
	// gone is closed when the run is over.
	gone chan struct{}
	// serial is set if the tasks of a context run one after the other, again if another worker may begin
	// again after output was shown.
	serial, again bool
	// roused is set if the run continues one whose work is in the queue, resting if it has ended
	// because it would only wait for a worker.
	roused, resting bool

	published
	state dispatchState
	// token is that of the grant; empty if an earlier run has granted it.
	token string
	// batches is set if the worker is known to accept protocol.Batch.
	batches bool
	// slot is that of the worker that has the task or was offered it, if it accepts offers; else nil.
	// The mutex of d guards it.
	slot *knownWorker
	received
	// cancel is the pending cancel request, or nil. closed is set if no worker may claim the
	// task any more.
	cancel   *cancel
	closed   bool
	schedule schedule
	large    largeData
}

// published is the work of a run, and its place at the bus.
type published struct {
	// waiting is the time in Unix milliseconds since when the work should be in its queue;
	// claimedMark while a worker has it; else zero. The goroutine of perform sets it.
	waiting atomic.Int64
	// queued is the time in Unix milliseconds when the work was first published; zero before.
	queued atomic.Int64
	// stored is set if the publication of the work is in the checkpoint.
	stored bool
	// since is the value of waiting before the task rested; else zero.
	since int64
	// repeats is how often lost work was published again, at most maxRepeats.
	repeats int
	// work is the envelope to publish while the task is unclaimed; then nil.
	work *bus.Envelope
	body *protocol.Work
}

// received holds the events of the worker that are not durable.
type received struct {
	// delayed is an event that grantClaim has delayed until the worker takes longer; else nil.
	delayed []byte
	// done is set when no further event counts, dirty when a change is not durable yet.
	done, dirty bool
	// unacked are the reports whose events were accepted and are not durable yet.
	unacked []*bus.Delivery
}

// perform publishes the message, or continues an earlier execution, until no further event
// counts.
func (r *run) perform() {
	defer r.release()
	defer close(r.gone)
	r.roused = r.d.register(r)
	defer r.close()
	r.begin()
	unpublished := r.stored && !r.schedule.publish.IsZero() // the broker is not reachable
	if !r.done && !unpublished && !r.flush() {
		return // the task was not stored: claims of the work are denied
	}
	if r.rest() {
		return
	}
	timer := time.NewTimer(r.schedule.wait(time.Now()))
	defer timer.Stop()
	asked := r.call.MessageWaiting()
	for !r.done {
		select {
		case <-r.mail.wake:
			r.handle(r.mail.take())
		case <-timer.C:
			r.tick(time.Now())
		case <-asked:
			asked = nil
			if r.state.claimed() {
				r.send(protocol.TypeConfirm, 0, &protocol.Confirm{MessageWaiting: true})
			}
		case <-r.ctx.Done():
			return
		}
		if r.rest() {
			return
		}
		timer.Reset(r.schedule.wait(time.Now()))
	}
}

// begin publishes the message, unless it is certain that it is on the bus.
func (r *run) begin() {
	now := time.Now()
	if r.state.claimed() {
		r.setWaiting(claimedMark)
		r.schedule.lease, r.schedule.deadline = now.Add(r.d.lease()), r.state.Deadline.Time()
		// No run may have received the worker's reports in the meantime.
		r.requestResend()
		return
	}
	if r.prepare(); r.done {
		return
	}
	if r.state.Published != 0 && (r.roused || r.d.durable()) {
		r.queued.Store(int64(r.state.Published))
		r.setWaiting(cmp.Or(r.since, now.UnixMilli()))
		r.waitFor(r.state.Published.Time())
		return
	}
	if r.state.Published != 0 || !r.offer(now) {
		r.publish(now)
	}
}

// close ends the run. Unread items of its mailbox are handled as for tasks without a run.
func (r *run) close() {
	r.vacate()
	left := r.d.unregister(r)
	r.dropPieces()
	for _, delivery := range r.unacked {
		left = append(left, delivery)
	}
	ctx, stop := context.WithTimeout(context.WithoutCancel(r.ctx), sendTimeout)
	defer stop()
	if r.ctx.Err() != nil && r.state.claimed() {
		r.stopWorker(ctx)
	}
	for _, item := range left {
		if _, ok := item.(*bus.Delivery); ok || r.resting {
			r.d.again(ctx, r.key, item)
		}
	}
}

// stopWorker stops the worker if the hub has ended the task without it, or restarts it. If the
// run has ended for another reason, it is to be resumed.
func (r *run) stopWorker(ctx context.Context) {
	if cause := context.Cause(r.ctx); errors.Is(cause, execution.ErrRedispatched) {
		r.d.stop(ctx, r.newMessage(), cause.Error())
		return
	}
	if status, err := r.d.statusOf(ctx, r.key); err == nil && (status == ended || status == unknown) {
		r.d.stop(ctx, r.newMessage(), status.reason())
	}
}

// handle processes the items of the mailbox, makes their changes durable in one step, and then
// notifies the worker.
func (r *run) handle(items []any) {
	for i, item := range items {
		if r.done {
			r.keepUnacked(items[i:])
			break
		}
		switch item := item.(type) {
		case *bus.Delivery:
			r.report(item)
		case *claim:
			r.handleClaim(item)
		case heartbeat:
			r.handleHeartbeat(item)
		case *fetch:
			r.handleFetch(item)
		case *cancel:
			r.handleCancel(item)
		case undeliverable:
			if !r.state.claimed() && item.delivery == r.state.Delivery {
				r.fail("no worker of agent %q could take the message: %s", r.call.Agent, item.reason)
			}
		case queuesLost:
			if r.work != nil && !r.state.claimed() {
				r.publish(time.Now())
			}
		case lostWork:
			r.replaceLost()
		}
	}
	r.confirm()
}

// keepUnacked keeps the reports that will not be processed.
func (r *run) keepUnacked(items []any) {
	for _, item := range items {
		if delivery, ok := item.(*bus.Delivery); ok {
			r.unacked = append(r.unacked, delivery)
		}
	}
}

// confirm makes accepted events durable, and confirms them to the worker.
func (r *run) confirm() {
	if !r.dirty && len(r.unacked) == 0 {
		return
	}
	if !r.flush() {
		return
	}
	r.send(protocol.TypeConfirm, r.state.Seq, &protocol.Confirm{Final: r.done})
	for _, delivery := range r.unacked {
		r.d.logSettlement(delivery.Ack(r.ctx))
	}
	r.unacked = r.unacked[:0]
}

// flush makes accepted events durable; it reports whether that is certain.
func (r *run) flush() bool {
	if err := r.call.Flush(r.ctx); err != nil {
		r.done = true
		return false
	}
	r.dirty = false
	return true
}

// noChange is an event that changes nothing.
var noChange = []byte(`{"statusUpdate":{"status":{"state":"TASK_STATE_SUBMITTED"}}}`)

// sendDelayed sends the delayed event. It comes before anything else that changes the place,
// because the stored place must not be ahead of the sent events.
func (r *run) sendDelayed() {
	event := r.delayed
	if r.delayed, r.schedule.delayed = nil, (time.Time{}); event != nil {
		r.store(event)
	}
}

// store stores the place together with an event.
func (r *run) store(event []byte) {
	if err := r.call.Checkpoint(r.state.encode()); err != nil {
		r.done = true
		r.yield(nil, err)
		return
	}
	r.pass(event)
}

// pass passes an event on to the hub.
func (r *run) pass(event []byte) {
	r.dirty = true
	if !r.yield(&agent.Raw{JSON: event}, nil) {
		r.done = true
	}
}

// handleClaim grants the job to a worker that has claimed it, or denies it.
func (r *run) handleClaim(c *claim) {
	s := &r.state
	switch {
	case !c.mayServe(r.name):
		r.d.log().Warn("claim by another agent's worker", "agent", r.name, "task", r.key.id, "worker", c.Worker, "of", c.from)
		r.deny(c, "it is for another agent")
	case s.claimed() && c.Worker == s.Worker && c.Nonce == s.Nonce:
		r.grantAgain()
	case s.claimed():
		r.deny(c, fmt.Sprintf("worker %s has it", s.Worker))
	case r.closed:
		r.deny(c, "the task is being canceled")
	case c.Delivery != s.Delivery:
		r.deny(c, "it was given to another worker")
	default:
		r.grantClaim(c)
	}
}

func (r *run) deny(c *claim, reason string) {
	r.d.send(r.ctx, &workerMessage{to: c.Worker, about: r.key, kind: protocol.TypeDeny, body: &protocol.Deny{Nonce: c.Nonce, Reason: reason}})
}

// working is the event for the start of a worker.
var working = []byte(`{"statusUpdate":{"status":{"state":"TASK_STATE_WORKING"}}}`)

// delayWorking is the time for which WORKING of an idempotent worker is delayed, so that it
// shares an append with the worker's first event: a short job costs one append less.
const delayWorking = 10 * time.Millisecond

// grantClaim grants a claim once it is durable. The claim of an idempotent worker is granted at
// once: if the hub crashes before it is durable, handleLostGrant detects that from the worker's
// next message.
func (r *run) grantClaim(c *claim) {
	r.token = rand.Text()
	r.state.claim(c.Worker, c.Nonce, r.token)
	r.setWaiting(claimedMark)
	r.state.Idempotent, r.batches = c.Idempotent, c.Batches
	event := working
	if r.state.Working {
		event = noChange
	}
	r.state.Working = true
	r.work, r.body = nil, nil
	now := time.Now()
	r.schedule = schedule{lease: now.Add(r.d.lease()), deadline: r.schedule.deadline}
	r.occupy(c, now)
	if c.Idempotent {
		r.delayed, r.schedule.delayed = event, now.Add(delayWorking)
	} else if r.store(event); r.done || !r.flush() {
		return
	}
	if r.d.Claimed != nil {
		r.d.Claimed(Claim{Owner: r.key.owner, Task: r.key.id, Context: r.ec.ContextID, Agent: r.name, Worker: c.Worker, Epoch: r.state.Epoch})
	}
	r.grant()
}

// handleLostGrant publishes the work again if its grant was lost in a crash of the hub: a
// worker then has an epoch that is unknown to this run. That worker stops, and has acknowledged
// the work. It counts as a try.
func (r *run) handleLostGrant(epoch int64) {
	s := &r.state
	if s.claimed() || r.closed || epoch != s.Epoch+1 {
		return
	}
	s.Epoch = epoch
	if s.Tries++; s.Tries >= maxTries {
		r.fail("the worker of agent %q that had the message was lost with the hub, as were those before: the limit is %d attempts", r.call.Agent, maxTries)
		return
	}
	r.redispatch()
}

// redispatch publishes the message as new work.
func (r *run) redispatch() {
	r.sendDelayed()
	r.dropPieces()
	r.state.release()
	r.setWaiting(0)
	r.vacate()
	r.token, r.stored = "", false
	if r.store(noChange); !r.flush() || r.done {
		return
	}
	for _, delivery := range r.unacked { // of a worker that does not count
		r.d.logSettlement(delivery.Ack(r.ctx))
	}
	r.unacked, r.schedule = r.unacked[:0], schedule{}
	if r.prepare(); !r.done {
		r.publish(time.Now())
	}
}

// grantAgain repeats the grant for a worker that has not received it.
func (r *run) grantAgain() {
	if r.token == "" {
		if r.state.Seq > 0 {
			return // it has received it
		}
		r.token = rand.Text()
		r.state.Token = hashed(r.token)
		if r.store(noChange); !r.flush() {
			return
		}
	}
	r.grant()
}

func (r *run) grant() {
	r.send(protocol.TypeGrant, 0, &protocol.Grant{Nonce: r.state.Nonce, Token: r.token, Lease: r.d.lease().Milliseconds()})
}

// newMessage returns a message to the worker that has the job.
func (r *run) newMessage() *workerMessage {
	return &workerMessage{to: r.state.Worker, about: r.key, correlation: r.call.CorrelationID, epoch: r.state.Epoch, batches: r.batches}
}

// send sends a message to the worker that has the job.
func (r *run) send(kind bus.Type, seq int64, body any) {
	n := r.newMessage()
	n.kind, n.seq, n.body = kind, seq, body
	r.d.send(r.ctx, n)
}

// requestResend requests the events that follow the accepted ones. It confirms none, because these
// need not be durable.
func (r *run) requestResend() {
	r.send(protocol.TypeConfirm, 0, &protocol.Confirm{Resend: r.state.next()})
}

// handleHeartbeat restarts the lease if a sign of life is from the worker that has the job; it
// reports whether it is.
func (r *run) handleHeartbeat(b heartbeat) bool {
	switch {
	case r.state.claimed() && b.epoch == r.state.Epoch && r.state.validToken(b.token):
		r.renewLease()
		return true
	case b.epoch != r.state.Epoch || !r.state.claimed():
		r.d.stop(r.ctx, &workerMessage{to: b.worker, about: r.key, epoch: b.epoch}, "the job was given to another worker")
		r.handleLostGrant(b.epoch)
	default:
		r.rejectToken(b.worker)
	}
	return false
}

// rejectToken logs an invalid token. It stops the sender unless this has the name of the worker
// that has the job: the name may be forged.
func (r *run) rejectToken(worker string) {
	r.d.log().Warn("the token does not match the grant", "agent", r.name, "task", r.key.id, "worker", worker)
	if worker != r.state.Worker {
		r.d.stop(r.ctx, &workerMessage{to: worker, about: r.key, epoch: r.state.Epoch}, "the token does not match the grant")
	}
}

// handleCancel asks the worker to cancel. If the task is unclaimed, no worker can claim it any
// more.
func (r *run) handleCancel(c *cancel) {
	r.cancel = c
	if !r.state.claimed() {
		r.closed = true
		r.setWaiting(0)
		r.schedule.offer = time.Time{}
		close(c.unclaimed)
		return
	}
	r.requestCancel(time.Now())
}

// cancelInterval is the time between two cancel requests, which may be lost.
const cancelInterval = time.Second

func (r *run) requestCancel(now time.Time) {
	r.send(protocol.TypeCancel, 0, &protocol.Cancel{Metadata: r.cancel.metadata})
	r.schedule.cancel = now.Add(cancelInterval)
}

// fail ends the task with a reason for its caller, and stops the worker.
func (r *run) fail(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	r.d.log().Warn("queue task failed", "agent", r.name, "task", r.key.id, "reason", text)
	r.sendDelayed()
	message := a2a.NewMessage(a2a.MessageRoleAgent, a2a.NewTextPart(text))
	if r.state.claimed() {
		defer r.d.stop(r.ctx, r.newMessage(), text)
	}
	r.yield(a2a.NewStatusUpdateEvent(r.ec, a2a.TaskStateFailed, message), nil)
	_ = r.call.Flush(r.ctx) // after an error the run is repeated
	r.done = true
}
