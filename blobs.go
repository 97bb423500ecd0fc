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

// Blobs is a folder of large parts of messages and artifacts, for Hub.Blobs. OpenBlobs opens
// one. It belongs to one hub.
type Blobs struct {
	dir       *datadir.Dir
	store     *blobstore.Folder
	threshold int64
	max       int64
}

// BlobOptions configure a folder of Blobs. The zero BlobOptions are sensible.
type BlobOptions struct {
	// Threshold is the size in bytes above which a part is stored in the folder; 1 MiB.
	// Negative means that no part is added; parts in the folder are still served.
	Threshold int64
	// Max is the maximum size of an accepted part in bytes; 64 MiB.
	Max int64
	// Expiry is the time that a part is kept after the end of its task, at most
	// Limits.Retention of the hub; 7 days.
	Expiry time.Duration
}

// partThreshold is BlobOptions.Threshold if it is zero.
const partThreshold = 1 << 20

// OpenBlobs opens the folder dir, and creates it if it does not exist. It fails if another hub
// uses the folder, also one in another process. Close it after the hub has run.
func OpenBlobs(dir string, o BlobOptions) (*Blobs, error) {
	d, err := datadir.Open(dir)
	if err != nil {
		return nil, fmt.Errorf("open blobs: %w", err)
	}
	store, err := blobstore.Open(dir, blobstore.Options{Keep: o.Expiry})
	if err != nil {
		return nil, errors.Join(err, d.Close())
	}
	p := &Blobs{dir: d, store: store, threshold: cmp.Or(o.Threshold, partThreshold), max: o.Max}
	if o.Threshold < 0 {
		p.threshold = math.MaxInt64
	}
	return p, nil
}

// Close releases the folder. The hub must have ended.
func (p *Blobs) Close() error { return p.dir.Close() }

// keeper returns the storage of large parts for the engine, or nil if parts stay in their
// tasks.
func (h *Hub) keeper() (*blobstore.Externalizer, error) {
	p := h.Blobs
	if p == nil {
		return nil, nil
	}
	if h.PublicURL == "" {
		return nil, errors.New("Blobs needs PublicURL: the addresses of parts are stored with their tasks")
	}
	if h.Limits.Retention > 0 {
		p.store.KeepAtMost(h.Limits.Retention)
	}
	return &blobstore.Externalizer{Store: p.store, Base: h.PublicURL, Threshold: p.threshold, Max: p.max}, nil
}
