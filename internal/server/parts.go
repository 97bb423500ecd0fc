package server

import (
	"cmp"
	"fmt"
	"math"
	"os"
	"time"

	"github.com/parley-a2a/parley/internal/blobstore"
	"github.com/parley-a2a/parley/internal/file/datadir"
)

const (
	// PartsName is the folder of large parts in the data folder.
	PartsName = "parts"
	// retentionDefault is the engine's default retention of tasks.
	retentionDefault = 30 * 24 * time.Hour
)

// openParts opens the folder of large parts, if a threshold is configured or the folder exists
// already, because tasks may refer to it. Parts are kept no longer than their tasks.
func (h *Hub) openParts() error {
	c := &h.cfg.Parts
	dir, threshold := cmp.Or(c.Dir, h.dir.Join(PartsName)), int64(c.Threshold)
	if threshold == 0 {
		if _, err := os.Stat(dir); err != nil {
			return nil
		}
		threshold = math.MaxInt64 // nothing is added
	}
	if c.Threshold > 0 && h.cfg.PublicURL == "" && !h.guarded() {
		return configf("%s: parts.threshold needs public_url: the addresses of parts are stored, and callers elsewhere would not reach %s",
			source(h.cfg), h.URL())
	}
	keep := min(cmp.Or(duration(c.Expiry), blobstore.DefaultKeep), cmp.Or(duration(h.cfg.Engine.Retention), retentionDefault))
	d, err := datadir.Open(dir)
	if err != nil {
		return fmt.Errorf("parts: %w", err)
	}
	h.opened(d.Close)
	store, err := blobstore.Open(dir, blobstore.Options{Keep: keep})
	if err != nil {
		return err
	}
	h.parts = &blobstore.Externalizer{
		Store: store, Base: cmp.Or(h.cfg.PublicURL, h.URL()), Threshold: threshold, Max: int64(c.Max),
	}
	return nil
}
