package worker

import (
	"context"
	"errors"
	"time"

	"github.com/parley-a2a/parley/internal/bus"
	"github.com/parley-a2a/parley/internal/bus/protocol"
)

// Times for sending reports.
const (
	reportWithin = 10 * time.Second
	// reportPause and reportMaxPause are the first and the longest time between two attempts.
	reportPause    = 250 * time.Millisecond
	reportMaxPause = 5 * time.Second
	// keepAfter is the time that the hub has to confirm a report at its topic. After that the
	// worker sends the report to the hub's queue, with confirmWithin between two attempts.
	keepAfter     = time.Second
	confirmWithin = 5 * time.Second
)

// report publishes the buffered outputs until the job ends. Outputs that arrive while a
// report is being published make up the next one. A report is sent to the hub's topic, which
// the broker does not store, and to its queue only if the hub does not confirm in time. The
// buffer keeps the outputs meanwhile.
func (j *job) report() {
	pause := time.Duration(0)
	timer := time.NewTimer(confirmWithin)
	defer timer.Stop()
	for j.ctx.Err() == nil {
		rep := protocol.Report{Token: j.currentToken(), Worker: j.run.id}
		first, slow := j.buffer.next(&rep)
		if first == 0 {
			j.wait(timer)
			continue
		}
		switch err := j.publish(first, &rep, slow); {
		case err == nil:
			pause = 0
		case errors.Is(err, bus.ErrTooLarge), errors.Is(err, bus.ErrInvalid):
			j.run.Logger.Error("the bus rejected an event of the agent", "agent", j.run.Name, "task", j.key.task, "error", err)
			j.buffer.replace(first, &protocol.Report{Error: "the agent has sent an event that the bus does not accept: " + publicReason(err), Public: true})
			j.stopExec(errJobOver)
		default:
			pause = min(max(2*pause, reportPause), reportMaxPause)
			j.run.Logger.Warn("report not published", "agent", j.run.Name, "task", j.key.task, "error", err)
			j.buffer.resendFrom(first)
			timer.Reset(pause)
			select {
			case <-timer.C:
			case <-j.ctx.Done():
			}
		}
	}
}

// publicReason returns the text of a bus error that callers may see.
func publicReason(err error) string {
	if errors.Is(err, bus.ErrTooLarge) {
		return bus.ErrTooLarge.Error()
	}
	return bus.ErrInvalid.Error()
}

func (j *job) publish(first int64, rep *protocol.Report, slow bool) error {
	e := j.envelope(protocol.TypeReport)
	e.Seq = first
	ctx, stop := context.WithTimeout(j.ctx, reportWithin)
	defer stop()
	if slow {
		return j.run.publish(ctx, j.reportQueue, e, rep)
	}
	return j.post(ctx, e, rep)
}

// wait waits until an output may be ready for publishing.
func (j *job) wait(timer *time.Timer) {
	if d := j.buffer.resendOverdue(time.Now()); d > 0 {
		timer.Reset(d)
	} else {
		timer.Reset(confirmWithin)
	}
	select {
	case <-j.buffer.wake:
	case <-timer.C:
	case <-j.ctx.Done():
	}
}
