package directory

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/parley-a2a/parley/internal/outbound/card"
	"github.com/parley-a2a/parley/task"
)

// Reread reads the registered agents in the store again, because another hub on the store may have
// changed them.
func (d *Directory) Reread(ctx context.Context) error {
	d.changing.Lock()
	defer d.changing.Unlock()
	records, err := d.cfg.Store.Records(ctx)
	if err != nil {
		return fmt.Errorf("registered agents: %w", err)
	}
	gone := maps.Clone(d.known[len(d.known)-1])
	for i := range records {
		r := &records[i]
		if r.Spec == nil {
			continue
		}
		delete(gone, r.Name)
		if a, _ := d.lookup(r.Name); a != nil && a.record != nil && a.record.Spec != nil && a.record.UpdatedAt.Equal(r.UpdatedAt) {
			continue
		}
		if err := d.learn(r); err != nil {
			d.cfg.Logger.Error("agent that another hub has registered", "agent", r.Name, "error", err)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(gone)) {
		d.unlearn(name)
	}
	return nil
}

// learn adopts an agent that another hub has registered or changed. The caller holds changing.
func (d *Directory) learn(r *card.Record) error {
	s, err := d.unpack(r)
	if err != nil {
		return err
	}
	d.adopt(*s, r)
	return nil
}

// unlearn forgets an agent that another hub has removed. The caller holds changing.
func (d *Directory) unlearn(name task.Agent) {
	if a, _ := d.lookup(name); a != nil {
		a.record = nil // it is dropped already
	}
	delete(d.known[len(d.known)-1], name)
	d.rebuild(name)
}
