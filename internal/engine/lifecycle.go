package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/parley-a2a/parley/internal/task"
)

// The intervals of maintenance, and the size of a sweep's slice.
const (
	sweepEvery = time.Minute
	probeEvery = time.Second
	sweepSlice = 500
)

// errStopped is the cause with which all contexts that outlive requests end.
var errStopped = errors.New("engine has stopped")

// Run recovers the tasks of an earlier process, and works until ctx ends. It continues tasks that
// rest (execution.ErrResting) in the background. Then it drains: it
// admits no more messages and lets runs end within DrainTimeout; if there are other hubs, only those
// that they could not repeat. It then fences and stops the remaining runs, which the next process or
// another hub recovers. Run returns when all goroutines of the
// engine have stopped, or with an error that states how many executors did not stop. An Engine
// runs once.
func (e *Engine) Run(ctx context.Context) error {
	err := e.recover(ctx)
	if err == nil {
		e.phase.CompareAndSwap(starting, serving)
		close(e.recovered)
		var reviving sync.WaitGroup
		reviving.Go(func() { e.revive(ctx) })
		e.maintain(ctx)
		reviving.Wait()
	} else if ctx.Err() != nil {
		err = nil
	}
	return errors.Join(err, e.drain())
}

// maintain sweeps, probes and reconciles until ctx ends.
func (e *Engine) maintain(ctx context.Context) {
	sweep := time.NewTicker(sweepEvery)
	defer sweep.Stop()
	probe := time.NewTicker(probeEvery)
	defer probe.Stop()
	later := false // the last repair has failed; the next one is at a tick
	for {
		select {
		case <-ctx.Done():
			return
		case <-sweep.C:
			e.sweep(ctx)
		case <-e.reconciler.wake:
			if !later {
				later = !e.repairAll(ctx)
			}
		case <-probe.C:
			e.probe(ctx)
			later = !e.repairAll(ctx)
		}
	}
}

// CheckStore tries whether the store can be written. If not, the engine is not ready until it can
// be written again, and it logs the reason.
func (e *Engine) CheckStore(ctx context.Context) {
	if err := e.store.Probe(ctx); err != nil {
		_ = e.storeFailed(err) // logged
	}
}

// probe tries a store that did not work, so that the hub becomes ready again without traffic.
func (e *Engine) probe(ctx context.Context) {
	if e.health.Load() == nil {
		return
	}
	if e.store.Probe(ctx) != nil {
		return
	}
	e.storeOK()
}

// sweep fails abandoned tasks and deletes old ones, a slice at a time. Each of several hubs fails the tasks
// of its share, and deletes slices that the others do not delete at the time.
func (e *Engine) sweep(ctx context.Context) {
	at := time.Now()
	if e.Suspended() {
		return
	}
	if e.cfg.Peers == nil || e.cfg.Peers.Does("sweep parts") {
		e.sweepParts(ctx, at)
	}
	if err := e.failStale(ctx, task.MillisOf(at.Add(-e.cfg.IdleRetention))); err != nil {
		e.cfg.Logger.Error("fail abandoned tasks", "error", err)
	}
	e.sweepRequests(ctx, at)
	before := task.MillisOf(at.Add(-e.cfg.Retention))
	for ctx.Err() == nil {
		n, err := e.store.Sweep(ctx, before, sweepSlice)
		if err != nil {
			e.cfg.Logger.Error("sweep", "error", err)
			return
		}
		if n < sweepSlice {
			return
		}
	}
}

// failStale fails the interrupted tasks whose callers have not returned.
func (e *Engine) failStale(ctx context.Context, before task.Millis) error {
	for ctx.Err() == nil {
		heads, err := e.store.Stale(ctx, before, sweepSlice)
		if p := e.cfg.Peers; p != nil {
			heads = slices.DeleteFunc(heads, func(h task.Head) bool { return !p.Takes(h.Key) })
		}
		if err != nil || len(heads) == 0 {
			return err
		}
		for i := range heads {
			l, err := e.open(ctx, ref{heads[i].Owner, heads[i].ID})
			if err != nil {
				return err
			}
			err = e.endBy(l, func(c *task.Change) error {
				if c.Prev.Rev != heads[i].Rev {
					return errUnchanged // an answer came
				}
				return ending(l.statusEntry(task.Failed, "abandoned: no answer came"))(c)
			}, errFencedBy)
			e.live.release(l)
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// leastGrace is the least time that executors have to notice that they are stopped: each may be
// in a commit on a busy machine.
const leastGrace = 10 * time.Second

// drain stops everything, in this order: admission, runs that end by themselves, the other
// runs, readers. It does not wait for runs that wait for other agents or people: the next
// process resumes them.
func (e *Engine) drain() error {
	e.phase.Store(draining)
	e.endServed(ErrDraining)
	e.awaitRuns()
	ended := e.handedOver()
	e.fenced.Store(true)
	e.endRuns(ErrDraining)
	e.execs.close()
	e.away.close()
	grace := max(e.cfg.DrainTimeout, leastGrace)
	left := e.execs.wait(grace) + e.away.wait(grace)
	e.handOver(ended)
	e.work.close()
	e.cancel(errStopped)
	e.work.wait(0)
	if left > 0 {
		return fmt.Errorf("drain: %d executors did not stop", left)
	}
	return nil
}

// goroutines is a group of goroutines. Members can join it until it is closed, and a caller can
// wait for all members for a limited time. Unlike a sync.WaitGroup it may be joined while a
// caller waits.
type goroutines struct {
	mu     sync.Mutex // guards the fields below
	size   int
	closed bool
	empty  chan struct{} // closed when the group is empty; nil if no caller waits
}

// join adds one member. It reports false if the group is closed.
func (c *goroutines) join() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.closed {
		c.size++
	}
	return !c.closed
}

// leave removes a member.
func (c *goroutines) leave() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.size--
	if c.size == 0 && c.empty != nil {
		close(c.empty)
		c.empty = nil
	}
}

// run calls f in a goroutine of the group. It reports false if the group is closed.
func (c *goroutines) run(f func()) bool {
	if !c.join() {
		return false
	}
	go func() { // wait is the owner of this goroutine
		defer c.leave()
		f()
	}()
	return true
}

// close prevents further joins.
func (c *goroutines) close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = true
}

// wait waits until the group is empty, at most for d if d is positive. It returns the number of
// members left.
func (c *goroutines) wait(d time.Duration) int {
	c.mu.Lock()
	if c.size == 0 {
		c.mu.Unlock()
		return 0
	}
	if c.empty == nil {
		c.empty = make(chan struct{})
	}
	left := c.empty
	c.mu.Unlock()
	var timeout <-chan time.Time
	if d > 0 {
		timer := time.NewTimer(d)
		defer timer.Stop()
		timeout = timer.C
	}
	select {
	case <-left:
	case <-timeout:
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.size
}
