package queue

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2asrv"

	"github.com/parley-a2a/parley/agent"
	"github.com/parley-a2a/parley/bus"
	"github.com/parley-a2a/parley/bus/protocol"
	"github.com/parley-a2a/parley/task"
)

// run is one execution for one message. Except for mail and gone, its fields belong to the
// goroutine of perform.
type run struct {
	d     *Dispatcher
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

	place place
	// token is that of the grant; empty if an earlier run has granted it.
	token string
	// batches is set if the worker is known to accept protocol.Batch.
	batches bool
	// work is the envelope to publish while the task is unclaimed; then nil.
	work *bus.Envelope
	body *protocol.Work

	// unsaid is an event that accept has delayed until the worker takes longer; else nil.
	unsaid []byte
	// over is set when no further event counts, dirty when a change is not durable yet.
	over, dirty bool
	// owed are the reports whose events were accepted and are not durable yet.
	owed []*bus.Delivery
	// cancel is the pending cancel request, or nil. closed is set if no worker may claim the
	// task any more.
	cancel *cancel
	closed bool
	due    schedule
	large  large
}

// perform publishes the message, or continues an earlier execution, until no further event
// counts.
func (r *run) perform() {
	defer close(r.gone)
	r.d.enter(r)
	defer r.leave()
	r.begin()
	if !r.over && !r.flush() {
		return // the task was not stored: claims of the work are denied
	}
	timer := time.NewTimer(r.due.wait(time.Now()))
	defer timer.Stop()
	asked := r.call.Asked()
	for !r.over {
		select {
		case <-r.mail.wake:
			r.handle(r.mail.take())
		case <-timer.C:
			r.tick(time.Now())
		case <-asked:
			asked = nil
			r.tell(protocol.TypeMessageWaiting, &protocol.MessageWaiting{})
		case <-r.ctx.Done():
			return
		}
		timer.Reset(r.due.wait(time.Now()))
	}
}

// begin publishes the message, unless it is certain that it is on the bus.
func (r *run) begin() {
	now := time.Now()
	if r.place.claimed() {
		r.due.lease, r.due.deadline = now.Add(r.d.lease()), r.place.Deadline.Time()
		// No run may have received the worker's reports in the meantime.
		r.askAgain()
		return
	}
	if r.prepare(); r.over {
		return
	}
	if r.place.Published != 0 && r.d.keeps() {
		r.waitFor(r.place.Published.Time())
		return
	}
	if r.place.Published == 0 {
		r.place.Published = task.MillisOf(now)
	}
	r.publish(now)
}

// leave ends the run. Unread items of its mailbox are handled as for tasks without a run.
func (r *run) leave() {
	left := r.d.leave(r)
	r.forget()
	for _, delivery := range r.owed {
		left = append(left, delivery)
	}
	ctx, stop := context.WithTimeout(context.WithoutCancel(r.ctx), sayWithin)
	defer stop()
	if r.ctx.Err() != nil && r.place.claimed() {
		r.dismiss(ctx)
	}
	for _, item := range left {
		if delivery, ok := item.(*bus.Delivery); ok {
			r.d.report(ctx, delivery)
		}
	}
}

// dismiss stops the worker if the hub has ended the task without it, or restarts it. If the run
// has ended for another reason, it is to be resumed.
func (r *run) dismiss(ctx context.Context) {
	if cause := context.Cause(r.ctx); errors.Is(cause, agent.ErrAnew) {
		r.d.stop(ctx, r.note(), cause.Error())
		return
	}
	if fate, err := r.d.fateOf(ctx, r.key); err == nil && (fate == ended || fate == unknown) {
		r.d.stop(ctx, r.note(), fate.reason())
	}
}

// handle processes the items of the mailbox, makes their changes durable in one step, and then
// notifies the worker.
func (r *run) handle(items []any) {
	for i, item := range items {
		if r.over {
			r.owe(items[i:])
			break
		}
		switch item := item.(type) {
		case *bus.Delivery:
			r.report(item)
		case *claim:
			r.claimed(item)
		case beat:
			r.vouched(item)
		case *fetch:
			r.fetched(item)
		case *cancel:
			r.canceled(item)
		case dead:
			r.died(item)
		case lost:
			r.republish()
		}
	}
	r.confirm()
}

// owe keeps the reports that will not be processed.
func (r *run) owe(items []any) {
	for _, item := range items {
		if delivery, ok := item.(*bus.Delivery); ok {
			r.owed = append(r.owed, delivery)
		}
	}
}

// confirm makes accepted events durable, and confirms them to the worker.
func (r *run) confirm() {
	if !r.dirty && len(r.owed) == 0 {
		return
	}
	if !r.flush() {
		return
	}
	r.say(protocol.TypeConfirm, r.place.Seq, &protocol.Confirm{Final: r.over})
	for _, delivery := range r.owed {
		r.d.settled(delivery.Ack(r.ctx))
	}
	r.owed = r.owed[:0]
}

// flush makes accepted events durable; it reports whether that is certain.
func (r *run) flush() bool {
	if err := r.call.Flush(r.ctx); err != nil {
		r.over = true
		return false
	}
	r.dirty = false
	return true
}

// quiet is an event that changes nothing.
var quiet = []byte(`{"statusUpdate":{"status":{"state":"TASK_STATE_SUBMITTED"}}}`)

// sayLate sends the delayed event. It comes before anything else that changes the place,
// because the stored place must not be ahead of the sent events.
func (r *run) sayLate() {
	event := r.unsaid
	if r.unsaid, r.due.say = nil, (time.Time{}); event != nil {
		r.remember(event)
	}
}

// remember stores the place together with an event.
func (r *run) remember(event []byte) {
	r.dirty = true
	if err := r.call.Checkpoint(r.place.encode()); err != nil {
		r.over = true
		r.yield(nil, err)
		return
	}
	if !r.yield(&agent.Raw{JSON: event}, nil) {
		r.over = true
	}
}

// claimed grants the job to a worker that has claimed it, or denies it.
func (r *run) claimed(c *claim) {
	p := &r.place
	switch {
	case !c.fits(r.name):
		r.d.log().Warn("claim of a worker that is not of the agent", "agent", r.name, "task", r.key.id, "worker", c.Worker, "of", c.from)
		r.deny(c, "it is for another agent")
	case p.claimed() && c.Worker == p.Worker && c.Nonce == p.Nonce:
		r.grantAgain()
	case p.claimed():
		r.deny(c, fmt.Sprintf("worker %s has it", p.Worker))
	case r.closed:
		r.deny(c, "the task is being canceled")
	case c.Delivery != p.Delivery:
		r.deny(c, "it was given to another worker")
	default:
		r.accept(c)
	}
}

func (r *run) deny(c *claim, reason string) {
	r.d.say(r.ctx, &note{to: c.Worker, about: r.key, kind: protocol.TypeDenial, body: &protocol.Denial{Nonce: c.Nonce, Reason: reason}})
}

// working is the event for the start of a worker.
var working = []byte(`{"statusUpdate":{"status":{"state":"TASK_STATE_WORKING"}}}`)

// sayAfter is the time for which WORKING of an idempotent worker is delayed, so that it shares
// an append with the worker's first event: a short job costs one append less.
const sayAfter = 10 * time.Millisecond

// accept grants a claim once it is durable. The claim of an idempotent worker is granted at
// once: if the hub crashes before it is durable, missed detects that from the worker's next
// message.
func (r *run) accept(c *claim) {
	r.token = rand.Text()
	r.place.claim(c.Worker, c.Nonce, r.token)
	r.place.Idempotent, r.batches = c.Idempotent, c.Batches
	event := working
	if r.place.Working {
		event = quiet
	}
	r.place.Working = true
	r.work, r.body = nil, nil
	now := time.Now()
	r.due = schedule{lease: now.Add(r.d.lease()), deadline: r.due.deadline}
	if c.Idempotent {
		r.unsaid, r.due.say = event, now.Add(sayAfter)
	} else if r.remember(event); r.over || !r.flush() {
		return
	}
	r.grant()
}

// missed publishes the work again if its grant was lost in a crash of the hub: a worker then
// has an epoch that is unknown to this run. That worker stops, and has acknowledged the work.
// It counts as a try.
func (r *run) missed(epoch int64) {
	p := &r.place
	if p.claimed() || r.closed || epoch != p.Epoch+1 {
		return
	}
	p.Epoch = epoch
	if p.Tries++; p.Tries >= maxTries {
		r.fail("the worker of agent %q that had the message was lost with the hub, and so were those before: it is tried %d times", r.call.Agent, maxTries)
		return
	}
	r.again()
}

// again publishes the message as new work.
func (r *run) again() {
	r.sayLate()
	r.forget()
	r.place.free()
	r.token = ""
	if r.remember(quiet); !r.flush() || r.over {
		return
	}
	for _, delivery := range r.owed { // of a worker that does not count
		r.d.settled(delivery.Ack(r.ctx))
	}
	r.owed, r.due = r.owed[:0], schedule{}
	if r.prepare(); !r.over {
		now := time.Now()
		r.place.Published = task.MillisOf(now)
		r.publish(now)
	}
}

// grantAgain repeats the grant for a worker that has not received it.
func (r *run) grantAgain() {
	if r.token == "" {
		if r.place.Seq > 0 {
			return // it has received it
		}
		r.token = rand.Text()
		r.place.Token = hashed(r.token)
		if r.remember(quiet); !r.flush() {
			return
		}
	}
	r.grant()
}

func (r *run) grant() {
	r.say(protocol.TypeGrant, 0, &protocol.Grant{Nonce: r.place.Nonce, Token: r.token, Lease: r.d.lease().Milliseconds()})
}

// note returns a note to the worker that has the job.
func (r *run) note() *note {
	return &note{to: r.place.Worker, about: r.key, correlation: r.call.CorrelationID, epoch: r.place.Epoch, batches: r.batches}
}

// say sends a message to the worker that has the job.
func (r *run) say(kind bus.Type, seq int64, body any) {
	n := r.note()
	n.kind, n.seq, n.body = kind, seq, body
	r.d.say(r.ctx, n)
}

// tell is say, if a worker has the job.
func (r *run) tell(kind bus.Type, body any) {
	if r.place.claimed() {
		r.say(kind, 0, body)
	}
}

func (r *run) askAgain() { r.say(protocol.TypeResend, r.place.next(), &protocol.Resend{}) }

// vouched restarts the lease if a sign of life is from the worker that has the job; it reports
// whether it is.
func (r *run) vouched(b beat) bool {
	switch {
	case r.place.claimed() && b.epoch == r.place.Epoch && r.place.vouches(b.token):
		r.alive()
		return true
	case b.epoch != r.place.Epoch || !r.place.claimed():
		r.d.stop(r.ctx, &note{to: b.worker, about: r.key, epoch: b.epoch}, "the job was given to another worker")
		r.missed(b.epoch)
	default:
		r.suspect(b.worker)
	}
	return false
}

// suspect logs an invalid token. It stops the sender unless this has the name of the worker
// that has the job: the name may be forged.
func (r *run) suspect(worker string) {
	r.d.log().Warn("token is not that of the grant", "agent", r.name, "task", r.key.id, "worker", worker)
	if worker != r.place.Worker {
		r.d.stop(r.ctx, &note{to: worker, about: r.key, epoch: r.place.Epoch}, "the token is not that of the grant")
	}
}

// canceled asks the worker to cancel. If the task is unclaimed, no worker can claim it any
// more.
func (r *run) canceled(c *cancel) {
	r.cancel = c
	if !r.place.claimed() {
		r.closed = true
		close(c.unclaimed)
		return
	}
	r.askCancel(time.Now())
}

// cancelEvery is the time between two cancel requests, which may be lost.
const cancelEvery = time.Second

func (r *run) askCancel(now time.Time) {
	r.say(protocol.TypeCancel, 0, &protocol.Cancel{Metadata: r.cancel.metadata})
	r.due.cancel = now.Add(cancelEvery)
}

// died ends a task whose work the bus has moved to Dead, if no worker has it.
func (r *run) died(x dead) {
	if !r.place.claimed() && x.delivery == r.place.Delivery {
		r.fail("no worker of agent %q could take the message: %s", r.call.Agent, x.reason)
	}
}

// fail ends the task with a reason for its caller, and stops the worker.
func (r *run) fail(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	r.d.log().Warn("queue task failed", "agent", r.name, "task", r.key.id, "reason", text)
	r.sayLate()
	message := a2a.NewMessage(a2a.MessageRoleAgent, a2a.NewTextPart(text))
	if r.place.claimed() {
		defer r.d.stop(r.ctx, r.note(), text)
	}
	r.yield(a2a.NewStatusUpdateEvent(r.ec, a2a.TaskStateFailed, message), nil)
	_ = r.call.Flush(r.ctx) // after an error the run is repeated
	r.over = true
}
