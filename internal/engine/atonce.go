package engine

import (
	"time"

	"github.com/parley-a2a/parley/internal/task"
	"github.com/parley-a2a/parley/internal/wake"
)

// mayAnswerAtOnce reports whether the agent may answer the message of a new task before the
// message is stored, so that one change stores both. The caller must wait for the answer, and
// nothing may be stored beside the message: the rows beside it belong to a task that is open.
func (a *admission) mayAnswerAtOnce() bool {
	plain := a.lineage == nil && a.hook == nil && a.request == nil && a.recordRequest == nil && a.send.Message.TaskID == ""
	t := a.agent.traits()
	return t.Pure && t.NoMessage && a.wait && plain
}

// answerAtOnce runs the agent for the message of a new task, and adds its answer to the change
// that creates the task, if the answer is complete within the time that an event waits for others.
// Otherwise the message is stored alone, and the run continues like any other.
func (a *admission) answerAtOnce(ch *task.Change) {
	e, r := a.engine, a.early
	a.holds = e.goroutinesOf(&r.key).join() // the run may have left the group before it is stored
	r.ready, r.held = wake.New(), a.holds
	defer time.AfterFunc(linger, r.ready.Send).Stop()
	e.startEarly(r, &ch.Next)
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
	batch, kept := r.unsavedLocked()
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
	err := a.changeAlone(f)
	if a.holds {
		a.holds = false
		a.early.endLeft()
		a.engine.goroutinesOf(&a.early.key).leave()
	}
	return err
}

// changeAlone is change for a run that ends itself.
func (a *admission) changeAlone(f step) error {
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

// leave leaves the end of the run to the admission if that holds the events: so the goroutine of
// the executor need not wait until they are stored. It reports whether it did.
func (r *run) leave() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.left = r.held
	return r.left
}

// endLeft ends a run that was left to the admission. The caller does not wait for events that are
// not stored yet.
func (r *run) endLeft() {
	r.mu.Lock()
	left, stored := r.left, r.emptyLocked()
	r.mu.Unlock()
	switch {
	case !left:
	case stored, !r.engine.goroutinesOf(&r.key).run(r.settleAndEnd): // stopped: the next process finds the claim
		r.end()
	}
}

func (r *run) settleAndEnd() {
	r.settle()
	r.end()
}
