package engine

import (
	"github.com/parley-a2a/parley/internal/engine/timer"
	"github.com/parley-a2a/parley/internal/wake"
	"github.com/parley-a2a/parley/task"
)

// mayAnswerAtOnce reports whether the agent may answer the message of a new task before the
// message is stored, so that one change stores both. The caller must wait for the answer, and
// nothing may be stored beside the message: the rows beside it belong to a task that is open.
func (a *admission) mayAnswerAtOnce() bool {
	t := a.agent.traits()
	plain := a.lineage == nil && a.hook == nil && a.request == nil && a.recordRequest == nil && a.send.Message.TaskID == ""
	return t.Pure && t.Idempotent && t.NoMessage && !t.Resumable && !t.Confirms && a.wait && plain
}

// answerAtOnce runs the agent for the message of a new task, and adds its answer to the change
// that creates the task, if the answer is complete within the time that an event waits for others.
// Otherwise the message is stored alone, and the run continues like any other.
func (a *admission) answerAtOnce(ch *task.Change) {
	e, r := a.engine, a.early
	r.ready = wake.New()
	e.startEarly(r, &ch.Next)
	var late timer.Alarm
	e.alarms.Start(&late, linger, r.ready.Send)
	defer e.alarms.Stop(&late)
	select {
	case <-r.ready:
		a.answer = r.whole(ch)
	case <-e.ctx.Done():
	}
}

// whole adds the events of a run that has ended its task to the change that creates the task, and
// returns them in their stored form; none if the run continues.
func (r *run) whole(ch *task.Change) []task.Entry {
	r.mu.Lock()
	batch, kept := r.pending[:len(r.pending):len(r.pending)], r.extrasLocked()
	ended := r.closed && r.state.Terminal() && r.ctx.Err() == nil
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

// change makes the durable change of the admission, and notifies the run that waits for it.
func (a *admission) change(f step) error {
	l := a.live
	l.write.Lock()
	defer l.write.Unlock()
	if err := a.engine.settle(l); err != nil {
		return err
	}
	err := a.engine.changeLocked(l, f)
	if a.early != nil {
		a.early.notifyStored(a.answer, err)
	}
	return err
}
