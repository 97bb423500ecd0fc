package server

import (
	"cmp"
	"fmt"
	"math"
	"os"
	"path/filepath"
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

// openParts opens the store of large parts: the database of the hub, or a folder, if a threshold is
// configured or the folder exists already, because tasks may refer to it. Parts are kept no longer
// than their tasks.
func (h *Hub) openParts() error {
	c := &h.cfg.Parts
	if c.Threshold > 0 && h.cfg.PublicURL == "" && !h.guarded() {
		return configf("%s: parts.threshold needs public_url: the addresses of parts are stored, and callers elsewhere would not reach %s",
			source(h.cfg), h.URL())
	}
	keep := min(cmp.Or(duration(c.Expiry), blobstore.DefaultKeep), cmp.Or(duration(h.cfg.Engine.Retention), retentionDefault))
	var store blobstore.Store
	var err error
	if h.stores.parts != nil {
		store, err = h.partsInDatabase(keep)
	} else {
		store, err = h.partsInFolder(keep)
	}
	if store == nil || err != nil {
		return err
	}
	h.parts = &blobstore.Externalizer{
		Store: store, Base: cmp.Or(h.cfg.PublicURL, h.URL()), Max: int64(c.Max),
		Threshold: cmp.Or(int64(c.Threshold), math.MaxInt64), // without a threshold, no part is added
	}
	return nil
}

// partsInDatabase returns the parts in the database, to which other hubs may add some.
func (h *Hub) partsInDatabase(keep time.Duration) (blobstore.Store, error) {
	if h.cfg.Parts.Dir != "" {
		return nil, configf("%s: parts.dir: large parts are in the database of the hub: remove this key", source(h.cfg))
	}
	dir := h.dir.Join(PartsName)
	if files, err := filepath.Glob(filepath.Join(dir, "owners", "*", "*")); err == nil && len(files) > 0 {
		h.logger.Warn("the data folder has large parts of another store, which are not used", "folder", dir, "store", h.storeName)
	}
	return h.stores.parts(keep), nil
}

// partsInFolder opens the folder of large parts; nil if it does not exist and none are to be added.
func (h *Hub) partsInFolder(keep time.Duration) (blobstore.Store, error) {
	dir := partsFolder(h.cfg)
	if h.cfg.Parts.Threshold == 0 {
		if _, err := os.Stat(dir); err != nil {
			return nil, nil
		}
	}
	d, err := datadir.Open(dir)
	if err != nil {
		return nil, fmt.Errorf("parts: %w", err)
	}
	h.opened(d.Close)
	return blobstore.Open(dir, blobstore.Options{Keep: keep})
}
