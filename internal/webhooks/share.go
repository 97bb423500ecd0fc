package webhooks

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/parley-a2a/parley/internal/backoff"
	"github.com/parley-a2a/parley/internal/task"
)

// holds reports whether this Dispatcher delivers the webhooks of a task.
func (d *Dispatcher) holds(key task.Key) bool { return d.cfg.Holds == nil || d.cfg.Holds(key) }

// Refresh reads the webhooks and changes that other processes have stored, if Config.Holds is set. The cost
// grows with the number of webhooks that have notifications to come.
func (d *Dispatcher) Refresh(ctx context.Context) error {
	if d.cfg.Holds == nil {
		return nil
	}
	d.sharing.Lock()
	defer d.sharing.Unlock()
	before := d.known.all()
	seen := make(map[task.HookRef]bool)
	for after := (task.HookRef{}); ; {
		page, err := d.cfg.Store.Unsettled(ctx, after, pageSize)
		if err != nil {
			return fmt.Errorf("read webhooks: %w", err)
		}
		for i := range page {
			seen[page[i].Ref()] = true
			d.adopt(&page[i])
		}
		if len(page) < pageSize {
			break
		}
		after = page[len(page)-1].Ref()
	}
	for _, h := range before {
		if !seen[h.ref()] {
			d.forget(h) // it was deleted, or is settled
		}
	}
	return nil
}

// Yield ends the deliveries that Config.Holds does not permit any more, so that another process can begin
// with them. Tries that run have the grace period to end. Their positions are durable when Yield
// returns without an error.
func (d *Dispatcher) Yield(ctx context.Context) error {
	hooks := slices.DeleteFunc(d.known.all(), func(h *hook) bool { return d.holds(h.key) })
	if len(hooks) == 0 {
		return nil
	}
	var sessions []<-chan struct{}
	d.mu.Lock()
	for _, h := range hooks {
		if h.phase != running {
			continue
		}
		if h.left == nil {
			h.left = make(chan struct{})
		}
		sessions = append(sessions, h.left)
	}
	d.mu.Unlock()
	grace := time.AfterFunc(d.cfg.Grace, func() { d.stop(hooks) })
	defer grace.Stop()
	for _, left := range sessions {
		select {
		case <-left:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	if err := d.saveAll(ctx); err != nil {
		return fmt.Errorf("hand over %d webhooks: %w", len(hooks), err)
	}
	d.sharing.Lock()
	defer d.sharing.Unlock()
	for _, h := range hooks {
		d.forget(h)
	}
	return nil
}

// Suspend ends the tries that run, because other processes may begin with the deliveries of this one.
func (d *Dispatcher) Suspend() { d.stop(d.known.all()) }

// stop ends the tries of hooks.
func (d *Dispatcher) stop(hooks []*hook) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, h := range hooks {
		if h.stop != nil {
			h.stop(errForgotten)
		}
	}
}

// followPage is the number of webhooks that readHooks reads at a time: more than a task can have.
const followPage = 64

// followEvery is the least time between two reads of Follow. Tasks that change meanwhile are read together: most have
// no webhooks.
const followEvery = 50 * time.Millisecond

// maxHinted is the number of tasks of which Follow keeps the keys.
const maxHinted = 4096

// Follow reads the webhooks of some tasks again, in the background. It does not block.
func (d *Dispatcher) Follow(keys []task.Key) {
	if d.cfg.Holds == nil || len(keys) == 0 {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.hinted = append(d.hinted, keys...); len(d.hinted) > maxHinted {
		d.hinted, d.manyHinted = nil, true
	}
	d.hint.Send()
}

// keepFollowing reads the webhooks of the tasks that Follow got, until ctx ends. After an error of
// the store, it reads them again.
func (d *Dispatcher) keepFollowing(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-d.hint:
		}
		d.mu.Lock()
		keys, many := d.hinted, d.manyHinted
		d.hinted, d.manyHinted = nil, false
		d.mu.Unlock()
		var err error
		if many {
			err = d.Refresh(ctx)
		} else {
			err = d.readHooks(ctx, keys)
		}
		wait := followEvery
		if err != nil {
			d.storeFailed(err)
			wait = storeWait
			d.mu.Lock()
			d.manyHinted = true
			d.mu.Unlock()
			d.hint.Send()
		}
		if backoff.Sleep(ctx, wait) != nil {
			return
		}
	}
}

// readHooks adopts the webhooks of tasks, and forgets those that no longer have notifications to come. Few tasks have
// webhooks, so that one page mostly serves all of them.
func (d *Dispatcher) readHooks(ctx context.Context, keys []task.Key) error {
	d.sharing.Lock()
	defer d.sharing.Unlock()
	keys = slices.DeleteFunc(slices.Compact(slices.Sorted(slices.Values(keys))), func(key task.Key) bool { return !d.holds(key) })
	for len(keys) > 0 {
		// No id is empty, so the page begins with the hooks of the first task.
		page, err := d.cfg.Store.Unsettled(ctx, task.HookRef{Task: keys[0]}, followPage)
		if err != nil {
			return fmt.Errorf("read webhooks of task %d: %w", keys[0], err)
		}
		n := len(keys)
		if len(page) == followPage { // it may end within the hooks of its last task
			n, _ = slices.BinarySearch(keys, page[len(page)-1].Task)
			n = max(n, 1)
		}
		d.replace(keys[:n], page)
		keys = keys[n:]
	}
	return nil
}

// replace adopts the webhooks of tasks, and forgets those that a page does not have.
func (d *Dispatcher) replace(keys []task.Key, page []task.Hooked) {
	seen := make(map[task.HookRef]bool)
	for i := range page {
		if _, found := slices.BinarySearch(keys, page[i].Task); found {
			seen[page[i].Ref()] = true
			d.adopt(&page[i])
		}
	}
	for _, key := range keys {
		for _, h := range d.known.of(key) {
			if !seen[h.ref()] {
				d.forget(h)
			}
		}
	}
}

// of returns the hooks of a task.
func (r *registry) of(key task.Key) (all []*hook) {
	s := r.shard(key)
	s.mu.Lock()
	defer s.mu.Unlock()
	for h := s.tasks[key]; h != nil; h = h.sibling {
		all = append(all, h)
	}
	return all
}

// all returns all hooks.
func (r *registry) all() (all []*hook) {
	for i := range r.shards {
		s := &r.shards[i]
		s.mu.Lock()
		for _, first := range s.tasks {
			for h := first; h != nil; h = h.sibling {
				all = append(all, h)
			}
		}
		s.mu.Unlock()
	}
	return all
}
