package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/agent"
	"github.com/parley-a2a/parley/internal/backoff"
	"github.com/parley-a2a/parley/internal/task"
)

// Limits of recovery.
const (
	// maxAttempts is how often an idempotent message is executed in total.
	maxAttempts = 3
	// recoverPage is the number of heads that are read at once.
	recoverPage = 1000
	// recoverers is the number of tasks that are recovered concurrently, so that their changes
	// share commits.
	recoverers = 64
)

// recover recovers the open tasks of an earlier process. Those of serial agents begin when all wait in
// their order.
func (e *Engine) recover(ctx context.Context) error {
	defer func() { e.launchAll(e.scheduler.open()) }()
	return e.eachOrphan(ctx, "recover", recoverers, func(h task.Head) func() {
		if e.restsUnattended(&h) {
			return nil
		}
		return func() { e.recoverTask(ctx, h) }
	})
}

// eachOrphan continues the orphaned tasks, several concurrently, with the function that take
// returns for a task; nil leaves it alone. It waits for a store that cannot be read.
func (e *Engine) eachOrphan(ctx context.Context, op string, several int, take func(task.Head) func()) error {
	var wg sync.WaitGroup
	defer wg.Wait()
	slots := make(chan struct{}, several)
	for after := task.Key(0); ; {
		heads, err := e.store.Due(ctx, after, recoverPage)
		switch {
		case errors.Is(err, task.ErrUnavailable):
			_ = e.storeFailed(fmt.Errorf("%s: %w", op, err)) // logged
			if err := backoff.Sleep(ctx, retryDelay); err != nil {
				return err
			}
			continue
		case err != nil:
			return fmt.Errorf("%s: %w", op, err)
		}
		if len(heads) == 0 {
			return nil
		}
		for _, h := range heads {
			after = h.Key
			e.attendHead(ctx, &h)
			if !e.orphaned(&h) {
				continue
			}
			run := take(h)
			if run == nil {
				continue
			}
			select {
			case slots <- struct{}{}:
			case <-ctx.Done():
				return context.Cause(ctx)
			}
			wg.Go(func() {
				defer func() { <-slots }()
				run()
			})
		}
	}
}

// orphaned reports whether a task has work that this process does not do.
func (e *Engine) orphaned(h *task.Head) bool {
	if h.Run.Holder == e.ownHolder() || e.elsewhere(h) || e.missing(h) {
		return false
	}
	return h.Run.Dispatch != task.Idle || h.CancelAt != 0 || h.Waiting()
}

// recoverTask loads and recovers one orphaned task.
func (e *Engine) recoverTask(ctx context.Context, h task.Head) {
	l := e.live.add(e.newLive(ref{h.Owner, h.ID}))
	defer e.live.release(l)
	e.adoptOrphan(ctx, l)
}

// recovery is what becomes of an orphaned task.
type recovery uint8

const (
	leaveAlone   recovery = iota // it is no orphan any more
	askToCancel                  // its agent carries out the cancel request
	cancelNow                    // the request is carried out without the agent
	giveUp                       // the task fails
	answerItself                 // the hub answers the question of its agent
	goOn                         // its run continues, by its checkpoint
	runAgain                     // its message is unread again, and waits for a run
	waitForRun
)

// recoveryOf decides on an orphaned task by its head and the traits of its agent, which are nil if
// there is none.
func recoveryOf(h *task.Head, t *agent.Traits) recovery {
	claimed := h.Run.Dispatch == task.Claimed
	switch {
	case h.CancelAt != 0 && t != nil && t.AfterCrash == agent.Resume:
		return askToCancel
	case h.CancelAt != 0:
		return cancelNow
	case t == nil:
		return giveUp
	case h.Run.Dispatch == task.Asking && !h.Waiting(): // otherwise the message answers
		return answerItself
	case claimed && t.AfterCrash == agent.Resume:
		return goOn
	case claimed && mayBeginAgain(t, h) && h.Run.Attempt < maxAttempts:
		return runAgain
	case claimed:
		return giveUp
	}
	return waitForRun
}

// adoptOrphan continues, cancels or fails a task of an earlier process. If the store fails, the task is
// adopted once it works, and no serial run begins before: the task may be the oldest of its context.
func (e *Engine) adoptOrphan(ctx context.Context, l *live) {
	_, err := e.load(ctx, l)
	if err == nil {
		err = e.tryAdopt(l)
	}
	if err == nil {
		return
	}
	e.cfg.Logger.Error("recover task", "task", l.ref.id, "error", err)
	e.deferWork(l, func(u *pendingWork) {
		if !u.orphan {
			u.orphan = true
			e.scheduler.hold()
		}
	})
}

// tryAdopt decides on an orphaned task in the change that makes this process its holder: another
// hub may have the task meanwhile, and its run may have shown output.
func (e *Engine) tryAdopt(l *live) error {
	var what recovery
	var a *Agent
	err := e.change(l, func(c *task.Change) error {
		h := &c.Prev
		if what = leaveAlone; !e.orphaned(h) || h.State.Terminal() {
			return errUnchanged
		}
		var t *agent.Traits
		if a = e.agent(h.Performer()); a != nil {
			t = new(a.traits())
		}
		switch what = recoveryOf(h, t); {
		case what == giveUp && t == nil:
			return ending(l.statusEntry(task.Failed, goneAgent))(c)
		case what == giveUp:
			return ending(l.statusEntry(task.Failed, interruption(t, h)))(c)
		case what == runAgain:
			return e.putBack(l, c)
		case e.cfg.Peers == nil:
			return errUnchanged
		}
		c.Next.Run.Holder = e.ownHolder()
		return nil
	})
	if err != nil {
		return err
	}
	switch what {
	case leaveAlone, giveUp:
	case askToCancel:
		return e.recoverCancel(l)
	case cancelNow:
		return e.endOrphan(l)
	case answerItself:
		e.startReply(l)
	case goOn:
		e.goOn(l, a)
	default:
		h := l.snapshot()
		e.enqueueAs(ticket{live: l, key: queueKeyOf(a, &h), recovered: what == runAgain})
	}
	return nil
}

// goOn continues the run of an earlier process. It waits neither for a place nor for the key of its
// context: the work elsewhere may wait for its report.
func (e *Engine) goOn(l *live, a *Agent) {
	if !l.startRouse() {
		return
	}
	h := l.snapshot()
	s := ticket{live: l, key: queueKeyOf(a, &h), after: h.Run.Epoch, recovered: true, rested: true}
	e.live.retain(l)
	e.scheduler.resume(s.key)
	e.launchAll([]ticket{s})
}

// enqueue puts a task into the queue.
func (e *Engine) enqueue(l *live, a *Agent) {
	h := l.snapshot()
	e.enqueueAs(ticket{live: l, key: queueKeyOf(a, &h)})
}

// enqueueAs puts a ticket into the queue, unless its task has one that is stalled.
func (e *Engine) enqueueAs(s ticket) {
	s.live.mu.Lock()
	stalled := len(s.live.stalled) > 0
	s.live.mu.Unlock()
	if stalled && !s.rested {
		s.hasBegun()
		return
	}
	s.at = s.live.position()
	e.live.retain(s.live)
	e.wait(s)
}

// wait puts a ticket with a reference to its task into the queue.
func (e *Engine) wait(s ticket) {
	next, queued := e.scheduler.wait(s)
	if !queued {
		s.hasBegun()
		e.live.release(s.live)
	}
	e.launchAll(next)
}

// mayBeginAgain reports whether readers may receive the output of another run from its beginning.
func mayBeginAgain(t *agent.Traits, h *task.Head) bool {
	return t.AfterCrash.Repeats(h.Run.Disclosed)
}

// interruption returns the reason for the failure of a task whose run must not be repeated.
func interruption(t *agent.Traits, h *task.Head) string {
	if mayBeginAgain(t, h) {
		return fmt.Sprintf("interrupted by restart in %d attempts", h.Run.Attempt)
	}
	return "interrupted by restart"
}

// unclaim puts a task back to waiting for a run whose execution has not begun, if epoch still has
// the claim. It does not count as an attempt.
func (e *Engine) unclaim(l *live, epoch int64) error {
	if epoch == 0 {
		return nil
	}
	return e.change(l, func(c *task.Change) error {
		if c.Prev.Run.Dispatch != task.Claimed || c.Prev.Run.Epoch != epoch || c.Prev.State.Terminal() {
			return errUnchanged
		}
		c.Next.Run.Attempt--
		return e.putBack(l, c)
	})
}

// putBack makes the message of a claimed task unread again. The caller holds l.write.
func (e *Engine) putBack(l *live, c *task.Change) error {
	e.queue(&c.Next)
	c.Next.Visibility = task.Visible
	c.Next.Consumed = c.Prev.Consumed - 1
	return e.reread(l, &c.Prev)
}

// reread inserts the message that was read last before the unread ones. The caller holds
// l.write. It does no harm if the message turns out to be read.
func (e *Engine) reread(l *live, h *task.Head) error {
	m, err := e.lastRead(h)
	if err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.inbox) == 0 || l.inbox[0].version != h.Consumed {
		l.inbox = slices.Insert(l.inbox, 0, m)
	}
	return nil
}

// revivers is the number of resting tasks of an earlier process whose runs begin at one time.
const revivers = 256

// rests reports whether runs of an agent may rest.
func rests(t *agent.Traits) bool { return t.Away && !t.Serial }

// restsUnattended reports whether an orphaned task needs no run before the engine is ready.
func (e *Engine) restsUnattended(h *task.Head) bool {
	if h.State.Terminal() || h.CancelAt != 0 || h.Run.Dispatch != task.Claimed && h.Run.Dispatch != task.Pending {
		return false
	}
	a := e.agent(h.Performer())
	if a == nil {
		return false
	}
	t := a.traits()
	return rests(&t)
}

// mayRouse reports whether another run may begin for the message of a task whose last run rests.
func (e *Engine) mayRouse(h *task.Head) bool {
	return h.Run.Dispatch == task.Claimed && e.restsUnattended(h)
}

// Rouse starts a run for a task whose last run rests, in this process or an earlier one. It does
// nothing for any other task. begun, if set, is called once the run has begun, or if there will be
// none soon. The error is ErrNoAgent if the agent of the resting task is not registered, or one of
// the store; begun is not called then.
func (e *Engine) Rouse(ctx context.Context, owner task.Owner, id a2a.TaskID, begun func()) error {
	l, err := e.open(ctx, ref{owner, id})
	if err != nil {
		return fmt.Errorf("rouse: %w", err)
	}
	defer e.live.release(l)
	if h := l.snapshot(); h.State.Open() && h.Run.Dispatch == task.Claimed && e.agent(h.Performer()) == nil {
		return fmt.Errorf("rouse task of %q: %w", h.Performer(), ErrNoAgent)
	}
	if begun != nil {
		begun = sync.OnceFunc(begun)
	}
	e.rouse(l, begun)
	return nil
}

func (e *Engine) rouse(l *live, begun func()) {
	h := l.snapshot()
	s := ticket{live: l, recovered: true, rested: true, begun: begun}
	if !e.mayRouse(&h) || !l.startRouse() {
		s.hasBegun()
		return
	}
	s.key = queueKeyOf(e.agent(h.Performer()), &h)
	e.enqueueLater(l, s)
}

// enqueueLater is enqueueAs on a goroutine of its own, so that the claims of several tasks share
// commits.
func (e *Engine) enqueueLater(l *live, s ticket) {
	if !e.background(l, func() { e.enqueueAs(s) }) {
		l.endRouse()
		s.hasBegun()
	}
}

// startRouse reports whether the caller may queue a ticket for the resting task: there is
// neither a ticket nor a run. If there is a run, the task is roused when the run rests.
func (l *live) startRouse() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.run != nil {
		l.rouseAgain = true
	}
	if l.run != nil || l.rousing {
		return false
	}
	l.rousing = true
	return true
}

func (l *live) endRouse() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.rousing = false
}

// revive starts a run for each resting task of an earlier process, so that its agent can check
// that the task still waits elsewhere. Few of these runs begin at one time.
func (e *Engine) revive(ctx context.Context) {
	err := e.eachOrphan(ctx, "revive tasks", revivers, func(h task.Head) func() {
		if !e.restsUnattended(&h) {
			return nil
		}
		return func() {
			begun := make(chan struct{})
			e.reviveTask(ctx, ref{h.Owner, h.ID}, sync.OnceFunc(func() { close(begun) }))
			select {
			case <-begun:
			case <-ctx.Done():
			}
		}
	})
	if err != nil && ctx.Err() == nil {
		e.cfg.Logger.Error("revive tasks", "error", err)
	}
}

func (e *Engine) reviveTask(ctx context.Context, k ref, begun func()) {
	l, err := e.open(ctx, k)
	if err != nil {
		begun()
		if ctx.Err() == nil && !errors.Is(err, task.ErrNotFound) {
			e.cfg.Logger.Error("revive task", "task", k.id, "error", err)
		}
		return
	}
	defer e.live.release(l)
	h := l.snapshot()
	switch {
	case !e.orphaned(&h) || !e.restsUnattended(&h):
		begun()
	case h.Run.Dispatch == task.Claimed:
		e.rouse(l, begun)
	default:
		e.enqueueLater(l, ticket{live: l, key: queueKeyOf(e.agent(h.Performer()), &h), begun: begun})
	}
}
