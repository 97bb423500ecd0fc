package worker

import (
	"context"
	"errors"
	"time"

	"github.com/parley-a2a/parley/bus"
	"github.com/parley-a2a/parley/bus/protocol"
)

// How reports are published.
const (
	reportWithin = 10 * time.Second
	// reportPause is the time between two attempts, at first and at most.
	reportPause    = 250 * time.Millisecond
	reportMaxPause = 5 * time.Second
	// keepAfter is how long the hub may take to confirm what it was told at its topic, before
	// its queue keeps that; confirmWithin is the time between two attempts there.
	keepAfter     = time.Second
	confirmWithin = 5 * time.Second
)

// report publishes what is in the outbox until the job is over. What comes while a report
// is under way goes together into the next one. A report goes to the hub's topic, which
// costs the broker nothing, and to the queue only if the hub does not answer: the outbox
// has it meanwhile.
func (j *workJob) report() {
	pause := time.Duration(0)
	timer := time.NewTimer(confirmWithin)
	defer timer.Stop()
	for j.ctx.Err() == nil {
		rep := protocol.Report{Token: j.tokenNow(), Worker: j.shift.id}
		first, slow := j.out.next(&rep)
		if first == 0 {
			j.rest(timer)
			continue
		}
		switch err := j.publish(first, &rep, slow); {
		case err == nil:
			pause = 0
		case errors.Is(err, bus.ErrTooLarge), errors.Is(err, bus.ErrInvalid):
			j.shift.Logger.Error("agent said what the bus does not take", "agent", j.shift.Name, "task", j.key.task, "error", err)
			j.out.replace(first, &protocol.Report{Error: "the agent has said something that the bus does not take: " + short(err), Public: true})
			j.halt(errJobOver)
		default:
			pause = min(max(2*pause, reportPause), reportMaxPause)
			j.shift.Logger.Warn("report not published", "agent", j.shift.Name, "task", j.key.task, "error", err)
			j.out.from(first)
			timer.Reset(pause)
			select {
			case <-timer.C:
			case <-j.ctx.Done():
			}
		}
	}
}

// short is what callers are told of an error of the bus.
func short(err error) string {
	if errors.Is(err, bus.ErrTooLarge) {
		return bus.ErrTooLarge.Error()
	}
	return bus.ErrInvalid.Error()
}

func (j *workJob) publish(first int64, rep *protocol.Report, slow bool) error {
	e := j.envelope(protocol.TypeReport)
	e.Seq = first
	ctx, stop := context.WithTimeout(j.ctx, reportWithin)
	defer stop()
	if slow {
		return j.shift.publish(ctx, j.reports, e, rep)
	}
	return j.post(ctx, e, rep)
}

// rest waits until there may be something to publish.
func (j *workJob) rest(timer *time.Timer) {
	if d := j.out.late(time.Now()); d > 0 {
		timer.Reset(d)
	} else {
		timer.Reset(confirmWithin)
	}
	select {
	case <-j.out.wake:
	case <-timer.C:
	case <-j.ctx.Done():
	}
}
