package queue

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/internal/bus"
	"github.com/parley-a2a/parley/internal/bus/protocol"
	"github.com/parley-a2a/parley/internal/json/rawjson"
	"github.com/parley-a2a/parley/internal/session"
	"github.com/parley-a2a/parley/internal/task"
)

// report accepts the new events of a report.
func (r *run) report(delivery *bus.Delivery) {
	rep, ok := r.d.reportOf(r.ctx, delivery)
	if !ok {
		return
	}
	class, skip := r.state.classify(delivery.Epoch, delivery.Seq, length(rep))
	valid := r.state.validToken(rep.Token)
	if rep.CancelRefused != "" && class != session.Stale && valid {
		r.handleRefusal(rep.CancelRefused)
		if length(rep) == 0 {
			r.d.logSettlement(delivery.Ack(r.ctx))
			return
		}
	}
	switch {
	case class == session.Stale:
		r.d.stop(r.ctx, &workerMessage{to: rep.Worker, about: r.key, epoch: delivery.Epoch}, "the job was given to another worker")
		defer r.handleLostGrant(delivery.Epoch)
	case !valid:
		r.rejectToken(rep.Worker)
	case class == session.Gap:
		r.renewLease()
		// A large event has many pieces that take long to arrive, so one request covers all pieces that
		// come before its answer.
		if rep.Piece == nil {
			r.requestResend()
		} else if r.schedule.resend.IsZero() {
			r.requestResend()
			r.schedule.resend = time.Now().Add(resendInterval)
		}
	default:
		r.renewLease()
		r.unacked = append(r.unacked, delivery)
		if r.sendDelayed(); !r.done {
			r.acceptEvents(rep, skip)
		}
		return
	}
	r.d.logSettlement(delivery.Ack(r.ctx))
}

// renewLease restarts the lease.
func (r *run) renewLease() {
	now := time.Now()
	r.schedule.lease, r.schedule.extended = now.Add(r.d.lease()), false
	r.d.mu.Lock()
	defer r.d.mu.Unlock()
	if r.slot != nil {
		r.slot.seen = now
	}
}

// acceptEvents accepts the events of a report, except those that were accepted before. An event
// that follows the pieces of an incomplete event discards these pieces.
func (r *run) acceptEvents(rep *protocol.Report, skip int) {
	switch {
	case skip == length(rep):
		return
	case rep.Piece != nil:
		r.acceptPiece(rep)
		return
	case r.state.Ahead > 0:
		r.state.Seq += r.state.Ahead
		r.dropPieces()
	}
	for _, event := range rep.Events[min(skip, len(rep.Events)):] {
		if r.acceptEvent(event); r.done {
			return
		}
	}
	if skip < length(rep) && length(rep) > len(rep.Events) {
		r.end(rep)
	}
}

// acceptEvent passes an event on, together with the place after it.
func (r *run) acceptEvent(event []byte) {
	r.state.Seq++
	event = rawjson.Mend(event)
	message, update := partsOf(event)
	if message != nil {
		event = taskOfMessage(message)
		_, update = partsOf(event)
	}
	state := update.state()
	if state != task.Working && state != task.Submitted {
		r.state.Disclosed = true
	}
	if state == task.Working && update.bare(event) {
		event = noChange // the hub has sent it already
	}
	if state.Terminal() {
		r.pass(event) // an ended task needs no place
		return
	}
	r.store(event)
}

// taskOfMessage converts a message that is the whole answer to a completed task. Its artifact
// is the same each time.
func taskOfMessage(message []byte) []byte {
	id, _ := rawjson.String(rawjson.Member(message, "messageId"))
	b := rawjson.AppendString([]byte(`{"task":{"status":{"state":"TASK_STATE_COMPLETED"},"artifacts":[{"artifactId":`), cmp.Or(id, "answer"))
	b = rawjson.AppendMembers(b, message, "messageId", "contextId", "taskId", "role", "referenceTaskIds", "artifactId", "name", "description")
	return append(b, `}]}}`...)
}

// end ends the run with the outcome that a report has beside its events.
func (r *run) end(rep *protocol.Report) {
	r.state.Seq++
	switch {
	case rep.GivenBack:
		r.handleLostWorker("ended before it had finished")
	case rep.Error != "" && rep.Public:
		r.done = true
		r.yield(nil, a2a.NewError(a2a.ErrInternalError, rep.Error))
	case rep.Error != "":
		r.done = true
		r.yield(nil, fmt.Errorf("worker %s: %w", rep.Worker, errors.New(rep.Error)))
	default: // after AUTH_REQUIRED
		r.store(noChange)
		r.done = true
	}
}

// handleRefusal passes the worker's refusal to cancel on.
func (r *run) handleRefusal(reason string) {
	if r.cancel == nil {
		return
	}
	r.d.log().Info("worker rejected the cancellation", "agent", r.name, "task", r.key.id, "worker", r.state.Worker, "reason", reason)
	close(r.cancel.refused)
	r.cancel, r.schedule.cancel = nil, time.Time{}
}

// maxTries is the largest number of workers that may claim a message.
const maxTries = 3

// handleLostWorker gives the job of a lost worker to another one, if that is safe.
func (r *run) handleLostWorker(how string) {
	s := &r.state
	r.d.log().Warn("worker is lost", "agent", r.name, "task", r.key.id, "worker", s.Worker, "epoch", s.Epoch, "how", how)
	switch {
	case r.cancel != nil:
		r.closed = true
		close(r.cancel.unclaimed)
		r.cancel, r.schedule.cancel = nil, time.Time{}
		return
	case !s.Idempotent || s.Disclosed && !r.again:
		r.fail("worker %s of agent %q %s after taking the message; its effects are unknown", s.Worker, r.call.Agent, how)
		return
	case s.Tries >= maxTries:
		r.fail("worker %s of agent %q %s, as did those that had the message before: the limit is %d attempts", s.Worker, r.call.Agent, how, maxTries)
		return
	}
	r.d.stop(r.ctx, r.newMessage(), "the job is given to another worker")
	r.redispatch()
}

// change is the part of an event that changes the task: a status, or a whole task.
type change struct{ update, task []byte }

// partsOf returns the parts of a StreamResponse: a message, or its change of the task. Both are
// empty for an artifact.
func partsOf(event []byte) (message []byte, c change) {
	for name, v := range rawjson.Fields(event) {
		switch {
		case name == "message" && message == nil:
			message = v
		case name == "statusUpdate" && c.update == nil:
			c.update = v
		case name == "task" && c.task == nil:
			c.task = v
		}
	}
	return message, c
}

// state returns the new state; Unspecified if there is none.
func (c change) state() task.State {
	of := c.update
	if of == nil {
		of = c.task
	}
	name, _ := rawjson.String(rawjson.Member(rawjson.Member(of, "status"), "state"))
	state, _ := task.ParseState(name)
	return state
}

// bare reports whether an event is a status update with nothing but its state and its time.
func (c change) bare(event []byte) bool {
	return c.update != nil && has(event, "statusUpdate") && has(c.update, "taskId", "contextId", "status") &&
		has(rawjson.Member(c.update, "status"), "state", "timestamp")
}

// has reports whether an object has no other members than those.
func has(obj []byte, names ...string) bool {
	for name := range rawjson.Fields(obj) {
		if !slices.Contains(names, name) {
			return false
		}
	}
	return true
}

// stateOf returns the state that an event sets; Unspecified if it is no status.
func stateOf(event []byte) task.State {
	_, c := partsOf(event)
	return c.state()
}
