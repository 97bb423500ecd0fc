package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/parley-a2a/parley/internal/op"
	"github.com/parley-a2a/parley/internal/task"
	"github.com/parley-a2a/parley/internal/wake"
)

// Pending changes and follow-up work are kept in memory until the store works again. While they
// exceed this limit, no message is admitted.
const (
	maxUncertainBytes = 64 << 20
	// uncertainBytes is the size counted for one task with an uncertain change, in addition to
	// its entries.
	uncertainBytes = 4 << 10
)

// uncertainOp is an operation with an unknown outcome: a change, or a hook that was stored or
// deleted.
type uncertainOp struct {
	change *task.Change
	// ref names the hook; hook is nil if it was deleted.
	ref  task.HookRef
	hook *task.Hook
}

// pendingWork lists the work for a task that this process could not do because the store
// failed, and that the task's head does not show. Epochs and times are compared with the head,
// so that outdated work is ignored.
type pendingWork struct {
	// unstarted is the epoch of a claim that was stored although the claiming call got an error:
	// no run has started.
	unstarted int64
	// unreleased is the epoch of a run that has ended and still has the claim.
	unreleased int64
	// withdrawn is the time of the cancel request that the agent has refused.
	withdrawn task.Millis
	// cancel is a cancel request whose caller got an error.
	cancel *cancelCall
	// reveal is set if the task is to be shown to callers because its quiet time is over.
	reveal bool
	// orphan is set if an earlier process left the task. It holds the scheduler.
	orphan bool
}

type cancelCall struct {
	caller  *op.Caller
	request *op.Cancel
}

// deferWork records work for l, which the engine does once the store works.
func (e *Engine) deferWork(l *live, f func(*pendingWork)) {
	l.mu.Lock()
	if l.pending == nil {
		l.pending = new(pendingWork)
	}
	f(l.pending)
	l.mu.Unlock()
	e.scheduleRepair(l, nil)
}

// reconciler holds the tasks with a failed change or pending work. It has a reference to each of
// them.
type reconciler struct {
	// wake has room for one signal: there is work to do, or the store works again.
	wake wake.Signal
	size atomic.Int64

	mu    sync.Mutex // guards the field below
	tasks map[*live]int64
}

func newReconciler() *reconciler {
	return &reconciler{wake: wake.New(), tasks: make(map[*live]int64)}
}

// take removes and returns the tasks with their references.
func (d *reconciler) take() []*live {
	d.mu.Lock()
	defer d.mu.Unlock()
	var all []*live
	for l, size := range d.tasks {
		all = append(all, l)
		d.size.Add(-size)
	}
	clear(d.tasks)
	return all
}

// scheduleRepair schedules the repair of l, once the store works.
func (e *Engine) scheduleRepair(l *live, c *task.Change) {
	cost := int64(uncertainBytes)
	if c != nil {
		for i := range c.Entries {
			cost += int64(size(&c.Entries[i]))
		}
	}
	d := e.reconciler
	d.mu.Lock()
	if _, there := d.tasks[l]; !there {
		e.live.retain(l)
		d.tasks[l] = cost
		d.size.Add(cost)
	}
	d.mu.Unlock()
	d.wake.Send()
}

// settle determines the outcome of an uncertain operation. No other change of the task is made
// before. The caller holds l.write.
func (e *Engine) settle(l *live) error {
	if l.uncertain != nil {
		err := e.resolveOutcome(l)
		if err != nil && !errors.Is(err, task.ErrNotFound) {
			err = e.storeFailed(fmt.Errorf("settle %s: %w", l.ref.id, err))
			e.scheduleRepair(l, nil)
			return err
		}
		l.uncertain = nil
		if err != nil {
			return nil // the task does not exist, or no longer
		}
	}
	if !l.refused {
		return nil
	}
	// Its caller got an error, and may have sent the message elsewhere.
	err := e.changeLocked(l, ending(l.statusEntry(task.Failed, "the hub could not store the task")))
	l.refuse(err != nil && !errors.Is(err, task.ErrNotFound))
	return err
}

// resolveOutcome compares an uncertain change with the store, and publishes the change if it
// was stored. The caller holds l.write.
func (e *Engine) resolveOutcome(l *live) error {
	if l.uncertain.change == nil {
		return e.resolveHook(l)
	}
	c := l.uncertain.change
	h, err := e.store.Head(e.ctx, l.ref.owner, l.ref.id)
	if err != nil || h.Rev == c.Prev.Rev {
		return err
	}
	stored, err := e.contains(&h, c)
	if err != nil {
		return err
	}
	if !stored && !l.isLoaded() {
		return nil // another call's task; it is about to be read
	}
	if stored && h.Rev == c.Next.Rev {
		c.Next = h
		e.publish(l, c)
	} else if err := e.reload(l); err != nil {
		return err
	}
	if stored {
		if c.Sidecars[task.SidecarRecordRequest] != nil && h.Rev != c.Next.Rev {
			e.cfg.Observer.Changed(Change{Head: &h, Requested: true}) // entries that were read again have no record requests
		}
		e.deferFollowUp(l, c)
	}
	return nil
}

// contains reports whether c was stored in the task with the head h.
func (e *Engine) contains(h *task.Head, c *task.Change) (bool, error) {
	if len(c.Entries) == 0 {
		return h.Rev == c.Next.Rev && h.Run == c.Next.Run && h.Visibility == c.Next.Visibility &&
			h.CancelAt == c.Next.CancelAt && h.Consumed == c.Next.Consumed && h.Assigned == c.Next.Assigned, nil
	}
	page, err := e.store.Read(e.ctx, h.Key, c.Prev.Version)
	if err != nil || len(page) == 0 {
		return false, err
	}
	a, b := &page[0], &c.Entries[0]
	return a.Kind == b.Kind && a.At == b.At && a.Epoch == b.Epoch && a.Seq == b.Seq &&
		slices.Equal(a.Body, b.Body) && slices.Equal(a.Call, b.Call), nil
}

// deferFollowUp records the follow-up work of a change that was stored although its caller got
// an error. The caller holds l.write.
func (e *Engine) deferFollowUp(l *live, c *task.Change) {
	switch run := &c.Next.Run; {
	case c.Prev.Rev == 0 && c.Request == nil:
		l.refuse(true) // a caller that has a key may return with it
	case run.Dispatch == task.Claimed && run.Epoch != c.Prev.Run.Epoch:
		e.deferWork(l, func(u *pendingWork) { u.unstarted = run.Epoch })
	}
}

// refuse sets l.refused. The caller holds l.write.
func (l *live) refuse(v bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.refused = v
}

// resolveHook notifies the observer of a hook that turned out to be stored, or deleted. The caller
// holds l.write, so that the task has the same version as then.
func (e *Engine) resolveHook(l *live) error {
	ref, want, h := l.uncertain.ref, l.uncertain.hook, l.snapshot()
	have, err := e.store.Hooks(e.ctx, ref.Task, "", MaxPushConfigs)
	if err != nil {
		return err
	}
	i := slices.IndexFunc(have, func(k task.Hook) bool { return k.ID == ref.ID })
	switch {
	case want == nil && i < 0:
		e.cfg.Observer.Changed(Change{Webhook: ref})
	case want != nil && i >= 0 && sameHook(&have[i], want):
		e.cfg.Observer.Changed(Change{Head: &h, Webhook: ref, Hook: want})
	}
	return nil
}

func sameHook(a, b *task.Hook) bool {
	return a.URL == b.URL && a.CreatedAt == b.CreatedAt && a.Position == b.Position &&
		a.Scheme == b.Scheme && slices.Equal(a.Secret, b.Secret)
}

// repairAll repairs the scheduled tasks, several concurrently so that their changes share
// commits. It reports whether all succeeded.
func (e *Engine) repairAll(ctx context.Context) bool {
	if e.health.Load() != nil {
		return true
	}
	var wg sync.WaitGroup
	var failed atomic.Bool
	slots := make(chan struct{}, recoverers)
	for _, l := range e.reconciler.take() {
		slots <- struct{}{}
		wg.Go(func() {
			defer func() { <-slots }()
			defer e.live.release(l)
			err := e.repair(ctx, l)
			if err != nil {
				failed.Store(true)
				e.repairFailed(l, err)
			}
			if !retried(err) {
				e.relaunch(l)
			}
		})
	}
	wg.Wait()
	return !failed.Load()
}

func (e *Engine) repairFailed(l *live, err error) {
	if retried(err) {
		e.scheduleRepair(l, nil)
		return
	}
	e.cfg.Logger.Error("repair task", "task", l.ref.id, "error", err)
}

// retried reports whether a repair that has failed is tried again.
func retried(err error) bool {
	return errors.Is(err, task.ErrUnavailable) || errors.Is(err, context.Canceled)
}

// repair makes this process consistent with the stored head of a task. Requests that were stored
// are carried out, even if their callers got an error.
func (e *Engine) repair(ctx context.Context, l *live) error {
	if _, err := e.load(ctx, l); err != nil {
		if errors.Is(err, task.ErrNotFound) {
			return nil
		}
		return err
	}
	if err := e.settleNow(l); err != nil {
		return err
	}
	h, u, r, canceling := l.pendingState()
	switch {
	case h.State.Terminal():
		if r != nil {
			r.fence(causeOf(h.State))
		}
		return nil
	case h.Visibility == task.Replied || e.fenced.Load():
		return nil
	case u.orphan && e.orphaned(&h):
		return e.tryAdopt(l)
	case h.CancelAt != 0:
		if canceling {
			return nil
		}
		return e.repairCancel(l, &h, &u)
	}
	if u.reveal {
		if err := e.reveal(l); err != nil {
			return err
		}
	}
	return e.repairRun(l, &u)
}

func (e *Engine) settleNow(l *live) error {
	l.write.Lock()
	defer l.write.Unlock()
	return e.settle(l)
}

// pendingState returns the state on which repair decides.
func (l *live) pendingState() (h task.Head, u pendingWork, r *run, canceling bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.pending != nil {
		u = *l.pending
	}
	return l.head, u, l.run, l.canceling
}

func causeOf(s task.State) error {
	if s == task.Canceled {
		return errCanceled
	}
	return errFencedBy
}

// repairCancel continues a cancel request that no goroutine carries out.
func (e *Engine) repairCancel(l *live, h *task.Head, u *pendingWork) error {
	switch {
	case h.CancelAt == u.withdrawn:
		return e.withdrawCancel(l, h.CancelAt)
	case u.cancel == nil:
		return e.endOrphan(l)
	case l.claimCancel():
		e.startCancel(l, u.cancel)
	}
	return nil
}

// repairRun queues a task that has an unread message, or a claimed message whose run has not
// started. Queueing a task twice does no harm.
func (e *Engine) repairRun(l *live, u *pendingWork) error {
	if err := e.unclaim(l, u.unstarted); err != nil {
		return err
	}
	if err := e.releaseClaim(l, u.unreleased); err != nil {
		return err
	}
	h := l.snapshot()
	if !h.Waiting() || h.Run.Dispatch == task.Claimed || h.State.Terminal() {
		return nil
	}
	a := e.agent(h.Performer())
	if a == nil {
		return e.end(l, task.Failed, goneAgent, errFencedBy)
	}
	e.enqueue(l, a)
	return nil
}
