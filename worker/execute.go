package worker

import (
	"encoding/json"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/agent"
	"github.com/parley-a2a/parley/internal/bus"
	"github.com/parley-a2a/parley/internal/bus/protocol"
	"github.com/parley-a2a/parley/internal/execution"
)

// execute runs the executor and buffers its events.
func (j *job) execute() {
	defer func() {
		if p := recover(); p != nil {
			j.run.Logger.Error("agent panicked", "agent", j.run.Name, "task", j.key.task, "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
			j.finish(&protocol.Report{Error: fmt.Sprintf("agent panicked: %v", p)})
		}
	}()
	if err := j.fetch(); err != nil {
		j.fail(err)
		return
	}
	x, ctx, err := j.callContext()
	if err != nil {
		j.finish(&protocol.Report{Error: err.Error()})
		return
	}
	var state a2a.TaskState
	for ev, err := range j.run.Executor.Execute(ctx, x) {
		if err != nil {
			j.fail(err)
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

// fail ends the job with an error of the executor. Callers see the text of an a2a.Error,
// which is meant for them, and no other.
func (j *job) fail(err error) {
	if j.exec.Err() != nil {
		return // the error is due to the stop
	}
	var public *a2a.Error
	if errors.As(err, &public) && public.Message != "" {
		j.finish(&protocol.Report{Error: public.Message, Public: true})
		return
	}
	j.run.Logger.Error("agent failed", "agent", j.run.Name, "task", j.key.task, "error", err)
	j.finish(&protocol.Report{Error: err.Error()})
}

// finish ends the job with a report instead of an event.
func (j *job) finish(end *protocol.Report) {
	j.buffer.add(j.ctx, output{end: end}, true)
	j.stopExec(errJobOver)
}

// yield buffers an event. It returns false if no further event may follow.
func (j *job) yield(ev a2a.Event) bool {
	event, last, err := encodeEvent(ev)
	if err != nil {
		j.finish(&protocol.Report{Error: err.Error()})
		return false
	}
	if len(event) > protocol.MaxLarge {
		j.finish(&protocol.Report{Public: true, Error: fmt.Sprintf(
			"the agent has sent %d bytes in one event: %d are allowed, and any number in chunks of an artifact", len(event), protocol.MaxLarge,
		)})
		return false
	}
	if !j.buffer.add(j.exec, output{event: event}, last) || last {
		j.stopExec(errJobOver)
		return false
	}
	return true
}

// refusalLasts is the time for which a refusal also answers further cancel requests.
const refusalLasts = 5 * time.Second

// cancel runs the executor's Cancel, unless it runs already.
func (j *job) cancel(e *bus.Envelope) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.canceling || j.ended {
		return
	}
	j.canceling = true
	if reason := j.refusal; reason != "" && time.Since(j.refused) < refusalLasts {
		j.goroutines.Go(func() { j.refuse(reason) })
		return
	}
	var c protocol.Cancel
	_ = json.Unmarshal(e.Body, &c) // invalid metadata is dropped
	j.goroutines.Go(func() { j.runCancel(&c) })
}

// runCancel runs the executor's Cancel.
func (j *job) runCancel(c *protocol.Cancel) {
	defer func() {
		if p := recover(); p != nil {
			j.run.Logger.Error("agent panicked", "agent", j.run.Name, "task", j.key.task, "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
			j.confirmCancel()
		}
	}()
	x, ctx, err := j.callContext()
	if err != nil {
		j.confirmCancel()
		return
	}
	x.Message = nil
	_ = json.Unmarshal(c.Metadata, &x.Metadata) // invalid metadata is dropped
	ctx = agent.WithCall(execution.WithRun(ctx, nil), agent.CallFrom(ctx))
	for ev, err := range j.run.Executor.Cancel(ctx, x) {
		if err != nil {
			j.refuse(err.Error())
			return
		}
		if ev != nil && !j.yield(ev) {
			return
		}
	}
	j.confirmCancel()
}

// confirmCancel reports that the task is canceled.
func (j *job) confirmCancel() {
	j.buffer.add(j.ctx, output{event: canceledEvent}, true)
	j.stopExec(errCanceled)
}

// canceledEvent is the status of a canceled task.
var canceledEvent = json.RawMessage(`{"statusUpdate":{"status":{"state":"TASK_STATE_CANCELED"}}}`)

// refuse reports to the hub the reason why the task is not canceled.
func (j *job) refuse(reason string) {
	j.mu.Lock()
	j.refusal, j.refused = reason, time.Now()
	j.mu.Unlock()
	e := j.envelope(protocol.TypeReport)
	j.run.trySend(j.ctx, j.reportQueue, e, &protocol.Report{Token: j.currentToken(), Worker: j.run.id, CancelRefused: reason})
	j.mu.Lock()
	j.canceling = false
	j.mu.Unlock()
}

func (j *job) currentToken() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.token
}
