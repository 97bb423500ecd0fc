package worker

import (
	"encoding/json"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/agent"
	"github.com/parley-a2a/parley/bus"
	"github.com/parley-a2a/parley/bus/protocol"
)

// execute runs the executor.
func (j *workJob) execute() {
	defer func() {
		if p := recover(); p != nil {
			j.shift.Logger.Error("agent panicked", "agent", j.shift.Name, "task", j.key.task, "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
			j.finish(&protocol.Report{Error: fmt.Sprintf("agent panicked: %v", p)})
		}
	}()
	if err := j.fetch(); err != nil {
		j.failed(err)
		return
	}
	x, ctx, err := j.context()
	if err != nil {
		j.finish(&protocol.Report{Error: err.Error()})
		return
	}
	var state a2a.TaskState
	for ev, err := range j.shift.Executor.Execute(ctx, x) {
		if err != nil {
			j.failed(err)
			return
		}
		if ev == nil {
			continue
		}
		if s := stateAfter(ev); s != "" {
			state = s
		}
		if !j.yield(ev) {
			return
		}
	}
	switch {
	case j.exec.Err() != nil:
	case state == a2a.TaskStateAuthRequired:
		j.finish(&protocol.Report{Ended: true})
	default:
		j.finish(&protocol.Report{Error: "agent ended without a final state", Public: true})
	}
}

// failed ends the job with an error of the executor. Words that it chose for its callers
// (a2a.Error) are passed on.
func (j *workJob) failed(err error) {
	if j.exec.Err() != nil {
		return // it was told to stop, and says so
	}
	var public *a2a.Error
	if errors.As(err, &public) && public.Message != "" {
		j.finish(&protocol.Report{Error: public.Message, Public: true})
		return
	}
	j.shift.Logger.Error("agent failed", "agent", j.shift.Name, "task", j.key.task, "error", err)
	j.finish(&protocol.Report{Error: err.Error()})
}

// finish ends the job with something that is no event.
func (j *workJob) finish(end *protocol.Report) {
	j.out.put(j.ctx, said{end: end}, true)
	j.halt(errJobOver)
}

// yield says an event; it reports whether further ones count.
func (j *workJob) yield(ev a2a.Event) bool {
	event, last, err := encodeEvent(ev)
	if err != nil {
		j.finish(&protocol.Report{Error: err.Error()})
		return false
	}
	if len(event) > protocol.MaxLarge {
		j.finish(&protocol.Report{Public: true, Error: fmt.Sprintf(
			"the agent has said something of %d bytes at once: %d are allowed, and any number in chunks of an artifact", len(event), protocol.MaxLarge,
		)})
		return false
	}
	if !j.out.put(j.exec, said{event: event}, last) || last {
		j.halt(errJobOver)
		return false
	}
	return true
}

// refusalLasts is how long a cancel request that comes again is answered as before.
const refusalLasts = 5 * time.Second

// cancel asks the executor to cancel, unless it is at that.
func (j *workJob) cancel(e *bus.Envelope) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.canceling || j.over {
		return
	}
	j.canceling = true
	if reason := j.refusal; reason != "" && time.Since(j.refused) < refusalLasts {
		j.hands.Go(func() { j.refuse(reason) })
		return
	}
	var c protocol.Cancel
	_ = json.Unmarshal(e.Body, &c) // what cannot be read is not there
	j.hands.Go(func() { j.runCancel(&c) })
}

// runCancel runs the executor's Cancel.
func (j *workJob) runCancel(c *protocol.Cancel) {
	defer func() {
		if p := recover(); p != nil {
			j.shift.Logger.Error("agent panicked", "agent", j.shift.Name, "task", j.key.task, "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
			j.canceled()
		}
	}()
	x, ctx, err := j.context()
	if err != nil {
		j.canceled()
		return
	}
	x.Message = nil
	_ = json.Unmarshal(c.Metadata, &x.Metadata) // what cannot be read is not there
	call := agent.NewCall(*agent.CallFrom(ctx), nil)

	for ev, err := range j.shift.Executor.Cancel(agent.WithCall(ctx, call), x) {
		if err != nil {
			j.refuse(err.Error())
			return
		}
		if ev != nil && !j.yield(ev) {
			return
		}
	}
	j.canceled()
}

// canceled confirms that the task is canceled.
func (j *workJob) canceled() {
	j.out.put(j.ctx, said{event: canceledEvent}, true)
	j.halt(errCanceled)
}

// canceledEvent says that the task is canceled.
var canceledEvent = json.RawMessage(`{"statusUpdate":{"status":{"state":"TASK_STATE_CANCELED"}}}`)

// refuse tells the hub that the task is not canceled.
func (j *workJob) refuse(reason string) {
	j.mu.Lock()
	j.refusal, j.refused = reason, time.Now()
	j.mu.Unlock()
	e := j.envelope(protocol.TypeReport)
	j.shift.say(j.ctx, j.reports, e, &protocol.Report{Token: j.tokenNow(), Worker: j.shift.id, CancelRefused: reason})
	j.mu.Lock()
	j.canceling = false
	j.mu.Unlock()
}

func (j *workJob) tokenNow() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.token
}
