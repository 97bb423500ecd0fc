package engine

import (
	"context"
	"errors"
	"time"

	"github.com/parley-a2a/parley/internal/task"
	"github.com/parley-a2a/parley/internal/wake"
)

// start runs the claimed task l with message m in a goroutine of its own. The caller passes on
// one reference to l and one place of the key of s.
func (e *Engine) start(l *live, a *Agent, m inbound, s *ticket) {
	r := e.newRun(l, a, s.key)
	r.msg, r.begun = m, s.begun
	h := l.snapshot()
	r.begin(&h)
}

func (e *Engine) newRun(l *live, a *Agent, k queueKey) *run {
	r := &run{engine: e, live: l, agent: a, traits: a.traits(), key: k}
	r.out.Bounds = &e.queues
	return r
}

// begin starts the execution of r for the claim in h.
func (r *run) begin(h *task.Head) {
	r.epoch, r.attempt = h.Run.Epoch, h.Run.Attempt
	r.ctx, r.stop = context.WithCancelCause(r.engine.runs)
	r.scope = r.ctx
	r.live.mu.Lock()
	r.live.run, r.live.rousing = r, false
	r.live.mu.Unlock()
	if r.engine.suspended.Load() {
		r.lost.Store(true)
		r.fence(errLeaseEnded)
	}
	if !r.engine.goroutinesOf(&r.key).run(r.perform) {
		// The engine has stopped; the next process finds the claim.
		r.hasBegun()
		r.ahead.ready.Send()
		r.engine.live.release(r.live)
	}
}

func (r *run) hasBegun() {
	if r.begun != nil {
		r.begun()
	}
}

// ahead is the state of a run that begins before the message of its new task is stored. The run
// keeps its events until the change that stores the message is made. The zero ahead is that of a
// run that begins after that change.
type ahead struct {
	// stored is closed once it is known whether the message is stored.
	stored chan struct{}
	// ready has room for one signal: the change need not wait any longer for the run's events. It
	// is nil if the change does not wait for them.
	ready wake.Signal
	// held is set until it is known whether the message is stored; run.mu guards it.
	held bool
}

// Causes of the end of a run that was ahead of its message. With errNotStored the task may be
// stored or not; with errNoTask it certainly is not.
var (
	errNotStored = errors.New("the task could not be stored")
	errNoTask    = errors.New("the store rejected the task")
)

// startAhead starts the run of a new task before the task is stored, if the agent permits that. A
// task whose id the caller has chosen may exist already, and would appear to have the run's output.
// The caller holds l.write.
//
// The change of a pure agent's message waits for the answer, for as long as an event waits for
// others. It includes the answer if that is complete by then. Otherwise the message is stored
// alone, and the run continues like any other.
func (a *admission) startAhead(ch *task.Change) {
	t := a.agent.traits()
	// The caller must wait for the answer, and nothing may be stored beside the message: the rows
	// beside it belong to a task that is open.
	plain := a.lineage == nil && a.hook == nil && a.request == nil && a.recordRequest == nil && a.send.Message.TaskID == ""
	waits := t.Pure && t.NoMessage && a.wait && plain
	if !waits && (!t.Away || a.send.Message.TaskID != "") {
		return
	}
	e := a.engine
	r := e.newRun(a.live, a.agent, a.slot.handOver())
	r.msg = a.inbound()
	a.ahead, r.ahead = r, ahead{stored: make(chan struct{}), held: true}
	if waits {
		r.ahead.ready = wake.New()
		defer time.AfterFunc(linger, r.ahead.ready.Send).Stop()
	}
	e.live.retain(a.live)
	r.begin(&ch.Next)
	if !waits {
		return
	}
	select {
	case <-r.ahead.ready:
		a.answer = r.whole(ch)
	case <-e.ctx.Done():
	}
}

// whole adds the events of a run that has ended its task to the change that creates the task, and
// returns them in their stored form; none if the run continues.
func (r *run) whole(ch *task.Change) []task.Entry {
	r.mu.Lock()
	batch, kept := r.unsavedLocked()
	ended := r.out.Closed() && r.state.Terminal() && r.ctx.Err() == nil
	r.mu.Unlock()
	if !ended || !kept.empty() {
		return nil
	}
	message := *ch
	if err := r.apply(ch, batch, &kept); err != nil {
		*ch = message // the run stores the events up to the bad one
		return nil
	}
	return ch.Entries[len(message.Entries):]
}

// change makes the durable change of the admission, and notifies a run that is ahead of it.
func (a *admission) change(f step) error {
	l := a.live
	l.write.Lock()
	defer l.write.Unlock()
	if err := a.engine.settle(l); err != nil {
		return err
	}
	err := a.engine.changeLocked(l, f)
	if a.ahead != nil {
		a.ahead.catchUp(a.answer, err)
	}
	return err
}

// catchUp ends the time in which a run was ahead of its message: err is the outcome of the change,
// and answer are the events of the run that it included. The run flushes the other events, and
// from now on those that follow. The caller holds l.write, so that the run does not store the
// answer again.
func (r *run) catchUp(answer []task.Entry, err error) {
	switch {
	case errors.Is(err, task.ErrUnavailable):
		r.fence(errNotStored)
	case err != nil:
		r.fence(errNoTask)
	default:
		r.acknowledge(answer)
		r.notifyOutput(answer)
	}
	r.mu.Lock()
	r.ahead.held = false
	if !r.flushing && !r.emptyLocked() {
		r.flushing = r.engine.work.run(r.pump)
	}
	r.mu.Unlock()
	close(r.ahead.stored)
}

// awaitStored waits until the message of a run is stored. It returns an error if it was not.
func (r *run) awaitStored(ctx context.Context) error {
	if r.ahead.stored == nil {
		return nil
	}
	r.ahead.ready.Send()
	select {
	case <-r.ahead.stored:
		return r.cutOff()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
