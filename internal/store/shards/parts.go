package shards

import (
	"context"
	"errors"
	"io"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/internal/blobstore"
	"github.com/parley-a2a/parley/internal/task"
	"github.com/parley-a2a/parley/store/pgstore"
)

// Parts keeps the large parts of tasks in the shards of their owners.
type Parts struct {
	db  *DB
	all map[int]*pgstore.Parts
}

var _ blobstore.Store = (*Parts)(nil)

// Parts returns the large parts in the shards. New ones are kept for a time after the end of their tasks.
func (db *DB) Parts(keep time.Duration) *Parts {
	p := &Parts{db, make(map[int]*pgstore.Parts)}
	for _, s := range db.all {
		p.all[s.number] = s.db.Parts(keep)
	}
	return p
}

// use lets f use the parts in the shard of an owner, which the owner keeps meanwhile.
func (p *Parts) use(owner task.Owner, find func(context.Context, task.Owner) (*shard, error), f func(*pgstore.Parts) error) error {
	err := p.db.at(context.Background(), owner, find, func(s *shard) error {
		return s.use(func(pgstore.Tasks) error { return f(p.all[s.number]) })
	})
	if isMissing(err) {
		err = blobstore.ErrNotFound
	}
	return err
}

// Put implements blobstore.Store. A part is stored before its task.
func (p *Parts) Put(k blobstore.Key, part blobstore.Part, r io.Reader) (got blobstore.Part, err error) {
	err = p.use(k.Owner, p.db.owners.place, func(in *pgstore.Parts) (err error) {
		got, err = in.Put(k, part, r)
		return err
	})
	return got, err
}

// Link implements blobstore.Store.
func (p *Parts) Link(k blobstore.Key, from a2a.TaskID, d blobstore.Digest) (got blobstore.Part, err error) {
	err = p.use(k.Owner, p.db.owners.find, func(in *pgstore.Parts) (err error) {
		got, err = in.Link(k, from, d)
		return err
	})
	return got, err
}

// End implements blobstore.Store: Sweep reads the ends of tasks.
func (p *Parts) End(blobstore.Key, time.Time) {}

// Keep implements blobstore.Store. If it fails, Sweep looks up the part.
func (p *Parts) Keep(k blobstore.Key, d blobstore.Digest) { p.settle((*pgstore.Parts).Keep, k, d) }

// Defer implements blobstore.Store. If it fails, Sweep looks up the part.
func (p *Parts) Defer(k blobstore.Key, d blobstore.Digest) { p.settle((*pgstore.Parts).Defer, k, d) }

// Drop implements blobstore.Store. If it fails, Sweep looks up the part.
func (p *Parts) Drop(k blobstore.Key, d blobstore.Digest) { p.settle((*pgstore.Parts).Drop, k, d) }

func (p *Parts) settle(how func(*pgstore.Parts, blobstore.Key, blobstore.Digest), k blobstore.Key, d blobstore.Digest) {
	_ = p.use(k.Owner, p.db.owners.find, func(in *pgstore.Parts) error {
		how(in, k, d)
		return nil
	})
}

// Open implements blobstore.Store.
func (p *Parts) Open(k blobstore.Key, d blobstore.Digest) (c *blobstore.Content, err error) {
	err = p.use(k.Owner, p.db.owners.find, func(in *pgstore.Parts) (err error) {
		c, err = in.Open(k, d)
		return err
	})
	return c, err
}

// Sweep implements blobstore.Store.
func (p *Parts) Sweep(ctx context.Context, tasks blobstore.Tasks, now time.Time) (removed int, err error) {
	var errs []error
	for _, s := range p.db.all {
		err := s.use(func(pgstore.Tasks) error {
			n, err := p.all[s.number].Sweep(ctx, tasks, now)
			removed += n
			return err
		})
		if !errors.Is(err, task.ErrPartly) {
			errs = append(errs, err)
		}
	}
	return removed, errors.Join(errs...)
}
