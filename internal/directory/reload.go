package directory

import "context"

// Reload reads all sources again, as at a start of the hub.
func (d *Directory) Reload(ctx context.Context) {
	for i, s := range d.cfg.Sources {
		d.set(i, s.Load(ctx))
	}
}
