package queue

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/parley-a2a/parley/agent"
	"github.com/parley-a2a/parley/auth"
	"github.com/parley-a2a/parley/internal/bus"
	"github.com/parley-a2a/parley/internal/bus/protocol"
	"github.com/parley-a2a/parley/internal/task"
	"github.com/parley-a2a/parley/internal/telemetry/trace"
)

// schedule holds the times at which a run acts by itself. A zero time means never.
type schedule struct {
	// lease is when the worker counts as lost.
	lease time.Time
	// extended is set if the lease was extended because the hub noticed its end late.
	extended bool
	// offer is when an unclaimed offer is published at the queue.
	offer time.Time
	// publish is when publishing is retried.
	publish time.Time
	// checkpoint is when the publication is stored in the checkpoint.
	checkpoint time.Time
	// sendEvent is when the delayed event is sent.
	delayed time.Time
	// limit is when the task fails for lack of a worker.
	limit time.Time
	// deadline is that of the errand.
	deadline time.Time
	// cancel is when the cancel request to the worker is repeated.
	cancel time.Time
	// claimOnly is when the request for missing pieces of a large event is repeated.
	resend time.Time
}

// never is longer than any wait.
const never = 1 << 62

// wait returns the time until the next action.
func (s *schedule) wait(now time.Time) time.Duration {
	d := time.Duration(never)
	for _, at := range [...]time.Time{s.lease, s.offer, s.publish, s.checkpoint, s.delayed, s.limit, s.deadline, s.cancel, s.resend} {
		if !at.IsZero() {
			d = min(d, max(at.Sub(now), 0))
		}
	}
	return d
}

// past reports whether a time has come, and resets it.
func past(at *time.Time, now time.Time) bool {
	if at.IsZero() || now.Before(*at) {
		return false
	}
	*at = time.Time{}
	return true
}

// lateTimer is the delay after which a timer counts as late: the hub, or its whole machine, was
// suspended or overloaded when it expired.
const lateTimer = 10 * time.Millisecond

// extend extends a lease that ended at due, once, if its end was noticed late: signs of life of
// the worker may still wait to be received. It reports whether it did.
func (s *schedule) extend(due, now time.Time, lease time.Duration) bool {
	if s.extended || now.Sub(due) < lateTimer {
		return false
	}
	s.extended, s.lease = true, now.Add(lease/3)
	return true
}

// tick performs an action that is due.
func (r *run) tick(now time.Time) {
	leaseEnd := r.schedule.lease
	switch {
	case past(&r.schedule.deadline, now):
		r.handleDeadline()
	case past(&r.schedule.lease, now):
		r.handleExpiredLease(leaseEnd, now)
	case past(&r.schedule.limit, now):
		r.fail("no worker of agent %q has taken the message within %v", r.call.Agent, r.d.maxWait())
	case past(&r.schedule.offer, now):
		r.d.mu.Lock()
		if r.slot != nil {
			r.d.slots.forget(r.name, r.slot)
		}
		r.d.mu.Unlock()
		r.publish(now)
	case past(&r.schedule.publish, now):
		r.publish(now)
	case past(&r.schedule.checkpoint, now):
		r.store(noChange)
		r.dirty = false // it need not be durable at once
		r.stored = true
	case past(&r.schedule.delayed, now):
		r.sendDelayed()
		r.dirty = false // no caller waits for it
	case past(&r.schedule.cancel, now):
		r.requestCancel(now)
	case past(&r.schedule.resend, now):
		r.requestResend()
	}
	r.confirm()
}

// handleExpiredLease releases a worker whose lease ended at due. If the hub itself was suspended
// at that time, the lease is extended; if it was disconnected meanwhile, the lease begins anew
// with the reconnection.
func (r *run) handleExpiredLease(due, now time.Time) {
	if r.schedule.extend(due, now, r.d.lease()) {
		return
	}
	if until := r.d.disconnectedUntil(now); !until.IsZero() {
		r.schedule.lease = until
		return
	}
	if r.d.Lost != nil {
		r.d.Lost(r.name, r.state.Worker)
	}
	r.handleLostWorker(fmt.Sprintf("has not been heard from for %v", r.d.lease()))
}

// handleDeadline ends a task whose deadline has passed.
func (r *run) handleDeadline() {
	if r.state.claimed() {
		r.fail("the deadline of the task has passed before worker %s of agent %q had finished", r.state.Worker, r.call.Agent)
		return
	}
	r.fail("the deadline of the task has passed before a worker of agent %q had taken it", r.call.Agent)
}

// prepare builds the work.
func (r *run) prepare() {
	if r.d.Peers != nil {
		r.state.Hub = r.d.ID
	}
	e := r.d.envelope(protocol.TypeWork, r.key)
	e.ID = workID(r.d.ID, r.key, r.state.Delivery)
	e.Destination = "agent/" + string(r.name)
	e.Correlation, e.Principal, e.Label = r.call.CorrelationID, auth.PrincipalFrom(r.ctx), "caller"
	e.Trace = trace.Headers(r.ctx)
	r.body = &protocol.Work{
		Agent: r.name, Skill: r.call.Skill, Delivery: r.state.Delivery,
		Key: r.call.Key, Attempt: r.state.Tries + 1, ContextID: r.ec.ContextID,
		Message: r.call.Message, Metadata: r.call.Metadata, Others: r.call.Others, Extensions: r.call.Extensions,
		AcceptedOutputModes: bounded(r.call.AcceptedOutputModes),

		ParentID: r.call.ParentID, Reports: protocol.ReportAt(r.d.ID).Name, Batches: true,
	}
	if r.ec.StoredTask != nil {
		r.body.Stored = r.call.Task
	}
	onward, err := r.call.OutgoingDelegation(r.ctx)
	switch {
	case err != nil:
		r.body.Alone = err.Error()
	case onward != nil:
		r.addDelegation(e, onward)
	}
	if len(r.body.Message)+len(r.body.Metadata)+len(r.body.Others)+len(r.body.Stored) > protocol.MaxInline && !r.externalize() {
		return
	}
	r.work = e
}

// maxModes limits the media types of a job, in bytes. They are advice, and a job that does not fit
// into an envelope cannot be published.
const maxModes = 16 << 10

// bounded returns the media types at the beginning of a list that fit into maxModes.
func bounded(modes []string) []string {
	size := 0
	for i, m := range modes {
		if size += len(m) + len(`"",`); size > maxModes {
			return modes[:i:i]
		}
	}
	return modes
}

// addDelegation adds the errand to the work. The last name of its chain is that of the agent.
func (r *run) addDelegation(e *bus.Envelope, onward *agent.DelegationContext) {
	e.Chain, e.Deadline = onward.Chain, task.MillisOf(onward.Deadline)
	r.body.Hops, r.body.Budget = onward.Hops, onward.Budget
	r.schedule.deadline, r.state.Deadline = onward.Deadline, e.Deadline
	if n := len(onward.Chain); n > 1 {
		name, _, _ := strings.Cut(onward.Chain[n-2], "@")
		e.Label = "agent/" + name
	}
}

// workID returns the same id for the same delivery of a task, so that a bus may drop work that
// is published twice.
func workID(hub string, k taskKey, delivery int64) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s\n%s\n%s\n%d", hub, k.owner, k.id, delivery))
	return "work-" + hex.EncodeToString(sum[:16])
}

// The time limit of a publish, and the time between two of them.
const (
	publishTimeout = 10 * time.Second
	publishRetry   = 2 * time.Second
)

// checkpointAfter is how long work waits for a worker before its publication is stored: most
// work is claimed earlier and needs no such write.
const checkpointAfter = time.Second

// publish puts the work into the queue, or schedules a retry.
func (r *run) publish(now time.Time) {
	if r.state.Published == 0 {
		r.state.Published = task.MillisOf(now)
	}
	r.queued.Store(int64(r.state.Published))
	r.schedule.offer = time.Time{}
	r.vacate()
	ctx, stop := context.WithTimeout(r.ctx, publishTimeout)
	err := r.d.publish(ctx, protocol.JobAt(r.name), r.work, r.body)
	stop()
	switch {
	case err == nil:
		r.d.clock.read(time.Now())
		r.setWaiting(now.UnixMilli())
		r.schedule.checkpoint = now.Add(checkpointAfter)
	case errors.Is(err, bus.ErrTooLarge) && r.body.Large == nil:
		if r.externalize() {
			r.publish(now)
		}
		return
	case errors.Is(err, bus.ErrTooLarge):
		r.fail("the data sent with the message is too large for the bus of agent %q", r.call.Agent)
		return
	case errors.Is(err, bus.ErrInvalid), errors.Is(err, bus.ErrClosed):
		r.d.log().Error("publish work", "agent", r.name, "task", r.key.id, "error", err)
		r.fail("the bus of agent %q rejected the message", r.call.Agent)
		return
	case r.ctx.Err() != nil:
		return
	default:
		r.d.log().Warn("publish work", "agent", r.name, "task", r.key.id, "error", err)
		r.schedule.publish = now.Add(publishRetry)
	}
	r.waitFor(r.state.Published.Time())
}

// waitFor sets the time until which the run waits for a worker.
func (r *run) waitFor(since time.Time) {
	if d := r.d.maxWait(); d > 0 {
		r.schedule.limit = since.Add(d)
	}
}
