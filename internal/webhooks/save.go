package webhooks

import (
	"context"
	"time"

	"github.com/parley-a2a/parley/internal/backoff"
	"github.com/parley-a2a/parley/internal/task"
)

const (
	// maxSteps is the number of positions that are saved together.
	maxSteps = 512
	// saveEvery is the least time between two saves; positions that change meanwhile are saved
	// together.
	saveEvery = 20 * time.Millisecond
)

// dirtyLocked marks the position of a hook to be saved.
func (d *Dispatcher) dirtyLocked(h *hook) {
	if h.dirty {
		return
	}
	h.dirty = true
	d.dirty = append(d.dirty, h)
	d.save.Send()
}

// keepSaving saves positions until ctx ends. One save runs at a time, with the newest position
// of each hook that moved.
func (d *Dispatcher) keepSaving(ctx context.Context) {
	warned := false
	for {
		select {
		case <-ctx.Done():
			return
		case <-d.save:
		}
		err := d.saveAll(ctx)
		wait := saveEvery
		if err != nil {
			if !warned && ctx.Err() == nil {
				d.logger.Error("webhook positions cannot be saved; retrying", "error", err)
			}
			wait = storeWait
		}
		warned = err != nil
		if backoff.Sleep(ctx, wait) != nil {
			return
		}
		d.requestSave()
	}
}

// requestSave requests another save if positions are left.
func (d *Dispatcher) requestSave() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.dirty) > 0 {
		d.save.Send()
	}
}

// saveAll saves all positions that are dirty.
func (d *Dispatcher) saveAll(ctx context.Context) error {
	d.saving.Lock()
	defer d.saving.Unlock()
	for {
		moves, more := d.takeDirty()
		if !more {
			return nil
		}
		err := d.cfg.Store.Advance(ctx, steps(moves))
		for _, h := range d.saved(moves, err) {
			d.forget(h)
		}
		if err != nil {
			return err
		}
	}
}

// move is the state of a hook that is being saved.
type move struct {
	hook     *hook
	notified int64
	settled  bool
	letters  []task.DeadLetter
}

// takeDirty removes up to maxSteps hooks from the dirty list, and reports whether there were
// any.
func (d *Dispatcher) takeDirty() ([]move, bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	n := min(len(d.dirty), maxSteps)
	moves := make([]move, 0, n)
	for _, h := range d.dirty[:n] {
		h.dirty = false
		if h.phase == gone {
			continue
		}
		m := move{hook: h, notified: h.notified, settled: h.settled}
		if h.failure != nil {
			m.letters = append(m.letters, h.failure.unsaved...)
		}
		moves = append(moves, m)
	}
	clear(d.dirty[:n])
	if d.dirty = d.dirty[n:]; len(d.dirty) == 0 {
		d.dirty = nil
	}
	return moves, n > 0
}

// steps converts moves to steps of the store: one for each dead letter, then the position.
func steps(moves []move) []task.HookStep {
	steps := make([]task.HookStep, 0, len(moves))
	for i := range moves {
		m := &moves[i]
		ref := m.hook.ref()
		for j := range m.letters {
			steps = append(steps, task.HookStep{HookRef: ref, Position: m.letters[j].Last, Lost: &m.letters[j]})
		}
		if n := len(m.letters); n > 0 && m.letters[n-1].Last == m.notified {
			steps[len(steps)-1].Settled = m.settled
			continue
		}
		steps = append(steps, task.HookStep{HookRef: ref, Position: m.notified, Settled: m.settled})
	}
	return steps
}

// saved applies the result of a save, and returns the hooks that are settled.
func (d *Dispatcher) saved(moves []move, err error) []*hook {
	d.mu.Lock()
	defer d.mu.Unlock()
	var settled []*hook
	for i := range moves {
		m := &moves[i]
		switch {
		case m.hook.phase == gone:
		case err != nil:
			d.dirtyLocked(m.hook)
		case m.settled:
			settled = append(settled, m.hook)
		default:
			m.hook.dropSaved(m.letters)
		}
	}
	return settled
}

// dropSaved drops the dead letters that are durable. The last one may have grown meanwhile.
func (h *hook) dropSaved(durable []task.DeadLetter) {
	t := h.failure
	if t == nil || len(durable) == 0 {
		return
	}
	n := len(durable)
	if len(t.unsaved) >= n && t.unsaved[n-1] != durable[n-1] {
		n--
	}
	t.unsaved = append([]task.DeadLetter(nil), t.unsaved[n:]...)
	if len(t.unsaved) == 0 && t.tries == 0 && t.newest.First == 0 {
		h.failure = nil
	}
}
