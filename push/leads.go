package push

import (
	"context"
	"fmt"

	"github.com/parley-a2a/parley/task"
)

// leads reports whether this Dispatcher delivers.
func (d *Dispatcher) leads() bool { return d.cfg.Leads == nil || d.cfg.Leads() }

// Refresh reads the webhooks and changes that other processes have stored, if Config.Leads is set.
// A Dispatcher that no longer leads forgets all webhooks: its running tries end, and their
// positions are saved if the store accepts them. The cost grows with the number of webhooks that
// have notifications to come.
func (d *Dispatcher) Refresh(ctx context.Context) error {
	if d.cfg.Leads == nil {
		return nil
	}
	before := d.known.all()
	if !d.leads() {
		for _, h := range before {
			d.forget(h)
		}
		return nil
	}
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

// followPage is the number of webhooks read at a time for a task: nearly all tasks have one.
const followPage = 4

// Follow is Refresh for some tasks. Its cost does not depend on the webhooks of other tasks.
func (d *Dispatcher) Follow(ctx context.Context, keys []task.Key) error {
	if d.cfg.Leads == nil || !d.leads() {
		return nil
	}
	for _, key := range keys {
		if err := d.followTask(ctx, key); err != nil {
			return fmt.Errorf("read webhooks of task %d: %w", key, err)
		}
	}
	return nil
}

func (d *Dispatcher) followTask(ctx context.Context, key task.Key) error {
	before := d.known.of(key)
	seen := make(map[task.HookRef]bool)
	for after := (task.HookRef{Task: key}); ; { // before all hooks of the task: no id is empty
		page, err := d.cfg.Store.Unsettled(ctx, after, followPage)
		if err != nil {
			return err
		}
		more := len(page) == followPage
		for i := range page {
			if page[i].Task != key {
				more = false
				break
			}
			after = page[i].Ref()
			seen[after] = true
			d.adopt(&page[i])
		}
		if !more {
			break
		}
	}
	for _, h := range before {
		if !seen[h.ref()] {
			d.forget(h)
		}
	}
	return nil
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
