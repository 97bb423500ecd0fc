package directory

import "context"

// Reload reads all sources again, as if the hub had been started anew.
func (d *Directory) Reload(ctx context.Context) {
	for i, s := range d.cfg.Sources {
		d.set(i, s.Load(ctx))
	}
}
