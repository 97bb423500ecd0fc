package webhooks

import (
	"context"

	"github.com/parley-a2a/parley/internal/backoff"
	"github.com/parley-a2a/parley/internal/task"
)

// pageSize is the number of hooks loaded at a time.
const pageSize = 256

// Moved notifies the dispatcher of a durable change of a task. The changes of one task come in
// order. It returns at once and does not keep the head.
func (d *Dispatcher) Moved(head *task.Head) {
	if d.known.n.Load() == 0 {
		return
	}
	s := d.known.shard(head.Key)
	s.mu.Lock()
	defer s.mu.Unlock()
	first := s.tasks[head.Key]
	if s.missed != nil {
		s.missed[head.Key] = viewOf(head)
	}
	if first == nil {
		return
	}
	seen := viewOf(head)
	d.mu.Lock()
	defer d.mu.Unlock()
	for h := first; h != nil; h = h.sibling {
		h.update(seen)
		d.rescheduleLocked(h)
	}
}

// Changed notifies the dispatcher that a webhook was made durable or, if h is nil, deleted. head
// is the task at that time; nil if the webhook was deleted. It returns at once and does not
// keep the head.
func (d *Dispatcher) Changed(ref task.HookRef, h *task.Hook, head *task.Head) {
	s := d.known.shard(ref.Task)
	s.mu.Lock()
	defer s.mu.Unlock()
	if old := s.findLocked(ref); old != nil {
		d.known.removeLocked(s, old)
		d.mu.Lock()
		d.unregisterLocked(old)
		d.mu.Unlock()
	}
	if h == nil || h.Settled || !d.holds(ref.Task) {
		return
	}
	// The task may have changed after the head was read and before the hook was known: a
	// session reads the log once.
	d.addLocked(s, h, head).recheck = true
	d.mu.Lock()
	defer d.mu.Unlock()
	d.rescheduleLocked(s.findLocked(ref))
}

// addLocked registers a hook. The caller holds s.mu, and calls rescheduleLocked afterwards.
func (d *Dispatcher) addLocked(s *shard, h *task.Hook, head *task.Head) *hook {
	known := &hook{key: h.Task, id: h.ID, notified: h.Position}
	if head != nil {
		known.update(viewOf(head))
	}
	if missed, ok := s.missed[h.Task]; ok {
		known.update(missed)
	}
	d.known.addLocked(s, known)
	d.mu.Lock()
	defer d.mu.Unlock()
	d.assignLocked(known, endpointOf(h.URL))
	return known
}

// load registers the unsettled hooks of earlier processes. It retries until it has them all or
// ctx ends.
func (d *Dispatcher) load(ctx context.Context) {
	d.known.beginLoading()
	defer d.known.endLoading()
	var after task.HookRef
	for warned := false; ; {
		page, err := d.cfg.Store.Unsettled(ctx, after, pageSize)
		switch {
		case ctx.Err() != nil:
			return
		case err != nil:
			if !warned {
				d.logger.Error("webhooks cannot be loaded; retrying", "error", err)
				warned = true
			}
			if backoff.Sleep(ctx, storeWait) != nil {
				return
			}
			continue
		}
		for i := range page {
			d.adopt(&page[i])
		}
		if len(page) < pageSize {
			return
		}
		after = page[len(page)-1].Ref()
	}
}

// adopt registers a loaded hook, unless it was registered meanwhile or another process delivers it.
func (d *Dispatcher) adopt(h *task.Hooked) {
	if !d.holds(h.Task) {
		return
	}
	s := d.known.shard(h.Task)
	s.mu.Lock()
	defer s.mu.Unlock()
	known := s.findLocked(h.Ref())
	if known == nil {
		known = d.addLocked(s, &h.Hook, &h.Head)
		// Without missed, a change after the page was read and before the hook was known is lost: a session
		// reads the log once.
		known.recheck = s.missed == nil
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	known.update(viewOf(&h.Head))
	d.rescheduleLocked(known)
}

// forget drops a hook that is settled or no longer exists.
func (d *Dispatcher) forget(h *hook) {
	s := d.known.shard(h.key)
	s.mu.Lock()
	defer s.mu.Unlock()
	d.known.removeLocked(s, h)
	d.mu.Lock()
	defer d.mu.Unlock()
	d.unregisterLocked(h)
}
