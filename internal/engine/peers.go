package engine

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/parley-a2a/parley/internal/task"
)

// Peers are the other hubs on the store. Methods are called concurrently.
type Peers interface {
	// Live reports whether the holder is a hub that may be at work. With an empty holder, it
	// reports whether there is any other hub. It may read the database for a holder that it meets
	// for the first time; the other methods return at once.
	Live(holder task.Holder) bool
	// Takes reports whether this hub is the one of all hubs that continues the task of a lost
	// one.
	Takes(key task.Key) bool
	// Does reports whether this hub does a job that one hub does for all. Two hubs may do it for a moment
	// when one joins.
	Does(job string) bool
}

// Heads reads what other hubs have stored of many tasks at once. A store with several hubs is one.
type Heads interface {
	// Revs returns the revisions of the tasks with the keys. A deleted task is missing.
	Revs(ctx context.Context, keys []task.Key) (map[task.Key]int64, error)
	// AtWork returns the number of tasks of an owner, up to limit, that are submitted or working and
	// that a holder other than own runs or has queued.
	AtWork(ctx context.Context, owner task.Owner, own task.Holder, limit int) (int, error)
}

// errLeaseEnded is the cause with which runs end because other hubs may take over their tasks.
var errLeaseEnded = errors.New("the lease of the hub has ended")

// ownHolder returns the holder that names this process in runs.
func (e *Engine) ownHolder() task.Holder { return *e.holder.Load() }

// elsewhere reports whether another hub that may be at work holds the task.
func (e *Engine) elsewhere(h *task.Head) bool {
	return e.cfg.Peers != nil && h.Run.Holder != "" && h.Run.Holder != e.ownHolder() && e.cfg.Peers.Live(h.Run.Holder)
}

// Elsewhere reports whether another hub that may be at work holds the task, and returns the
// checkpoint of its run, as far as that can be read.
func (e *Engine) Elsewhere(ctx context.Context, h *task.Head) (checkpoint []byte, elsewhere bool) {
	if !e.elsewhere(h) {
		return nil, false
	}
	checkpoint, err := e.store.Sidecar(ctx, h.Key, task.SidecarCheckpoint)
	if err != nil {
		e.cfg.Logger.Debug("read checkpoint", "task", h.ID, "error", err)
	}
	return checkpoint, true
}

// keyed holds the loaded tasks by their keys, for hints.
type keyed struct {
	mu    sync.Mutex // guards the fields below; taken last
	tasks map[task.Key]*live
	hints uint64 // counts the calls of some
}

// hinted returns the number of hints so far.
func (k *keyed) hinted() uint64 {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.hints
}

// add adds a task. It reports whether hints came since there were the given number of them: one
// of them may have been for the task.
func (k *keyed) add(key task.Key, l *live, hints uint64) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.tasks == nil {
		k.tasks = make(map[task.Key]*live)
	}
	k.tasks[key] = l
	return k.hints != hints
}

func (k *keyed) remove(key task.Key, l *live) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.tasks[key] == l {
		delete(k.tasks, key)
	}
}

// keys returns the keys of all tasks.
func (k *keyed) keys() []task.Key {
	k.mu.Lock()
	defer k.mu.Unlock()
	all := make([]task.Key, 0, len(k.tasks))
	for key := range k.tasks {
		all = append(all, key)
	}
	return all
}

// some returns the tasks with the keys that this process follows.
func (k *keyed) some(keys []task.Key) []*live {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.hints++
	var all []*live
	for _, key := range keys {
		if l := k.tasks[key]; l != nil {
			all = append(all, l)
		}
	}
	return all
}

// Follow reads the changes of those of the tasks that this process follows or runs.
func (e *Engine) Follow(ctx context.Context, keys []task.Key) {
	var wg sync.WaitGroup
	defer wg.Wait()
	slots := make(chan struct{}, recoverers)
	for _, l := range e.live.keyed.some(keys) {
		if !e.live.holdThis(l) {
			continue
		}
		select {
		case slots <- struct{}{}:
		case <-ctx.Done():
			e.live.release(l)
			return
		}
		wg.Go(func() {
			defer func() { <-slots }()
			defer e.live.release(l)
			if err := e.refresh(l); err != nil && !errors.Is(err, task.ErrNotFound) {
				e.cfg.Logger.Debug("follow task", "task", l.ref.id, "error", err)
			}
		})
	}
}

// FollowAll reads the changes of all tasks that this process follows or runs: hints may be lost.
// Its cost is one read of the store for a thousand tasks that did not change.
func (e *Engine) FollowAll(ctx context.Context) error {
	heads, ok := e.store.(Heads)
	if !ok {
		return nil
	}
	for keys := e.live.keyed.keys(); len(keys) > 0; {
		n := min(len(keys), recoverPage)
		revs, err := heads.Revs(ctx, keys[:n])
		if err != nil {
			return fmt.Errorf("follow tasks: %w", err)
		}
		var changed []task.Key
		for _, l := range e.live.keyed.some(keys[:n]) {
			if h := l.snapshot(); revs[h.Key] != h.Rev {
				changed = append(changed, h.Key)
			}
		}
		e.Follow(ctx, changed)
		keys = keys[n:]
	}
	return nil
}

// refresh reads the changes of a task that other hubs have stored, and acts on them.
func (e *Engine) refresh(l *live) error {
	l.write.Lock()
	defer l.write.Unlock()
	if err := e.settle(l); err != nil {
		return err
	}
	if !l.isLoaded() {
		return nil
	}
	return e.reload(l)
}

// react acts on changes of other hubs: a run that has lost its task ends, and a cancel request for
// a task of this hub is carried out.
func (e *Engine) react(l *live, before, h *task.Head) {
	l.mu.Lock()
	r := l.run
	l.mu.Unlock()
	if r != nil && (h.Run.Epoch != r.epoch || h.State.Terminal() && !before.State.Terminal()) {
		r.lost.Store(true)
		r.fence(causeOf(h.State))
	}
	e.attendCancel(l)
}

// Attend carries out cancel requests that other hubs have stored for those of the tasks that this hub holds, also
// if it has none of them loaded because their runs rest.
func (e *Engine) Attend(ctx context.Context, keys []task.Key) error {
	for _, key := range keys {
		due, err := e.store.Due(ctx, key-1, 1)
		if err != nil {
			return fmt.Errorf("cancel requests: %w", err)
		}
		if len(due) == 1 && due[0].Key == key {
			e.attendHead(ctx, &due[0])
		}
	}
	return nil
}

// attendHead is attendCancel for a task that may not be loaded.
func (e *Engine) attendHead(ctx context.Context, h *task.Head) {
	if h.CancelAt == 0 || h.Run.Holder != e.ownHolder() {
		return
	}
	l, err := e.open(ctx, ref{h.Owner, h.ID})
	if err != nil {
		e.cfg.Logger.Error("cancel task", "task", h.ID, "error", err)
		return
	}
	defer e.live.release(l)
	e.attendCancel(l)
}

// TakeOver continues the tasks of hubs that were lost, by the rules of a restart: those that
// Peers.Takes assigns to this hub, or all.
func (e *Engine) TakeOver(ctx context.Context, all bool) error {
	e.taking.Lock()
	defer e.taking.Unlock()
	e.scheduler.hold()
	defer func() { e.launchAll(e.scheduler.open()) }()
	return e.eachOrphan(ctx, "take over tasks", recoverers, func(h task.Head) func() {
		switch {
		case !all && !e.cfg.Peers.Takes(h.Key):
			return nil
		case e.restsUnattended(&h):
			return func() { e.reviveTask(ctx, ref{h.Owner, h.ID}, func() {}) }
		}
		return func() { e.recoverTask(ctx, h) }
	})
}

// missing reports whether the agent of a task is not here but may be at another hub.
func (e *Engine) missing(h *task.Head) bool {
	return e.cfg.Peers != nil && e.agent(h.Performer()) == nil && e.cfg.Peers.Live("")
}

// Suspend ends all runs and begins none, because other hubs may take over the tasks of this one
// from now on. Their claims stay stored.
func (e *Engine) Suspend() {
	e.suspended.Store(true)
	for i := range e.live.shards {
		for _, l := range e.live.shards[i].all() {
			l.mu.Lock()
			r := l.run
			l.mu.Unlock()
			if r != nil {
				r.lost.Store(true)
				r.fence(errLeaseEnded)
			}
		}
	}
}

// Suspended reports whether Suspend was called after the last Continue.
func (e *Engine) Suspended() bool { return e.suspended.Load() }

// Continue begins runs again, under the name of another holder. The runs of the earlier one are
// tasks of a lost hub.
func (e *Engine) Continue(holder task.Holder) {
	e.holder.Store(&holder)
	e.suspended.Store(false)
}

// all returns the tasks of the shard.
func (s *shard) all() []*live {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := make([]*live, 0, len(s.tasks))
	for _, l := range s.tasks {
		all = append(all, l)
	}
	return all
}
