package parley

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/parley-a2a/parley/internal/blobstore"
	"github.com/parley-a2a/parley/internal/file/datadir"
)

// Parts is a folder of large parts of messages and artifacts, for Hub.Parts. OpenParts opens
// one. It belongs to one hub.
type Parts struct {
	dir       *datadir.Dir
	store     *blobstore.Folder
	threshold int64
	max       int64
}

// PartOptions configure a folder of Parts. The zero PartOptions are sensible.
type PartOptions struct {
	// Threshold is the size in bytes above which a part is stored in the folder; 1 MiB.
	// Negative means that no part is added; parts in the folder are still served.
	Threshold int64
	// Max is the maximum size of an accepted part in bytes; 64 MiB.
	Max int64
	// Expiry is the time that a part is kept after the end of its task, at most
	// Limits.Retention of the hub; 7 days.
	Expiry time.Duration
}

// partThreshold is PartOptions.Threshold if it is zero.
const partThreshold = 1 << 20

// OpenParts opens the folder dir, and creates it if it does not exist. It fails if another hub
// uses the folder, also one in another process. Close it after the hub has run.
func OpenParts(dir string, o PartOptions) (*Parts, error) {
	d, err := datadir.Open(dir)
	if err != nil {
		return nil, fmt.Errorf("open parts: %w", err)
	}
	store, err := blobstore.Open(dir, blobstore.Options{Keep: o.Expiry})
	if err != nil {
		return nil, errors.Join(err, d.Close())
	}
	p := &Parts{dir: d, store: store, threshold: cmp.Or(o.Threshold, partThreshold), max: o.Max}
	if o.Threshold < 0 {
		p.threshold = math.MaxInt64
	}
	return p, nil
}

// Close releases the folder. The hub must have ended.
func (p *Parts) Close() error { return p.dir.Close() }

// keeper returns the storage of large parts for the engine, or nil if parts stay in their
// tasks.
func (h *Hub) keeper() *blobstore.Externalizer {
	p := h.Parts
	if p == nil {
		return nil
	}
	if h.PublicURL == "" {
		panic("parley: Parts needs PublicURL: the addresses of parts are stored with their tasks")
	}
	if h.Limits.Retention > 0 {
		p.store.KeepAtMost(h.Limits.Retention)
	}
	return &blobstore.Externalizer{Store: p.store, Base: h.PublicURL, Threshold: p.threshold, Max: p.max}
}
