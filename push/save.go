package push

import (
	"context"
	"time"

	"github.com/parley-a2a/parley/internal/backoff"
	"github.com/parley-a2a/parley/task"
)

const (
	// maxSteps is how many positions are made durable together.
	maxSteps = 512
	// saveEvery is the least time between two such steps; what moves meanwhile goes
	// together.
	saveEvery = 20 * time.Millisecond
)

// dirtyLocked notes that the position of a hook is to be made durable.
func (d *Dispatcher) dirtyLocked(h *hook) {
	if h.dirty {
		return
	}
	h.dirty = true
	d.dirty = append(d.dirty, h)
	select {
	case d.save <- struct{}{}:
	default:
	}
}

// keepSaving makes positions durable until ctx ends. One step is under way at a time,
// and has the newest position of each hook that moved.
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
				d.logger.Error("positions of webhooks cannot be saved; trying again", "error", err)
			}
			wait = storeWait
		}
		warned = err != nil
		if backoff.Sleep(ctx, wait) != nil {
			return
		}
		d.nudge()
	}
}

// nudge asks for another round if something is left to save.
func (d *Dispatcher) nudge() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.dirty) > 0 {
		select {
		case d.save <- struct{}{}:
		default:
		}
	}
}

// saveAll makes durable what is dirty now.
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

// move is what of a hook is being made durable.
type move struct {
	hook    *hook
	told    int64
	settled bool
	lost    []task.DeadLetter
}

// takeDirty takes some of what is dirty, and reports whether there was any.
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
		m := move{hook: h, told: h.told, settled: h.settled}
		if h.trouble != nil {
			m.lost = append(m.lost, h.trouble.lost...)
		}
		moves = append(moves, m)
	}
	clear(d.dirty[:n])
	if d.dirty = d.dirty[n:]; len(d.dirty) == 0 {
		d.dirty = nil
	}
	return moves, n > 0
}

// steps are moves as a store takes them: a dead letter each, then the position.
func steps(moves []move) []task.HookStep {
	steps := make([]task.HookStep, 0, len(moves))
	for i := range moves {
		m := &moves[i]
		ref := m.hook.ref()
		for j := range m.lost {
			steps = append(steps, task.HookStep{HookRef: ref, Told: m.lost[j].Last, Lost: &m.lost[j]})
		}
		if n := len(m.lost); n > 0 && m.lost[n-1].Last == m.told {
			steps[len(steps)-1].Settled = m.settled
			continue
		}
		steps = append(steps, task.HookStep{HookRef: ref, Told: m.told, Settled: m.settled})
	}
	return steps
}

// saved notes what has become of moves, and returns the hooks that are settled.
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
			m.hook.keepLost(m.lost)
		}
	}
	return settled
}

// keepLost drops the dead letters that are durable. The last one may have grown
// since.
func (h *hook) keepLost(durable []task.DeadLetter) {
	t := h.trouble
	if t == nil || len(durable) == 0 {
		return
	}
	n := len(durable)
	if len(t.lost) >= n && t.lost[n-1] != durable[n-1] {
		n--
	}
	t.lost = append([]task.DeadLetter(nil), t.lost[n:]...)
	if len(t.lost) == 0 && t.tries == 0 && t.run.First == 0 {
		h.trouble = nil
	}
}
