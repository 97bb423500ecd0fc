package pgstore

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/internal/blobstore"
	"github.com/parley-a2a/parley/internal/task"
)

// sweepPage is the number of references that a sweep reads at once.
const sweepPage = 500

var (
	// A reference is old by the clock of the database: that of a hub may be wrong.
	qSweepRefs = prepared(`SELECT r.owner, r.task, r.digest, r.keep, r.pending,
	CASE WHEN r.held_at <= ` + clock + ` - ` + strconv.FormatInt(blobstore.Grace.Milliseconds(), 10) + ` THEN 1 ELSE 0 END,
	coalesce(t.ended, -1)
	FROM part_refs r LEFT JOIN owners o ON o.name = r.owner LEFT JOIN tasks t ON t.id = r.task AND t.owner = o.id
	WHERE (r.owner, r.task, r.digest) > ($1, $2, $3) ORDER BY r.owner, r.task, r.digest LIMIT $4`)

	qLockContent = prepared(`SELECT c.id, c.space FROM part_refs r JOIN part_contents c ON c.space = r.space AND c.digest = r.digest
	WHERE r.owner = $1 AND r.task = $2 AND r.digest = $3 FOR UPDATE OF c`)
	qDropRef     = prepared("DELETE FROM part_refs WHERE owner = $1 AND task = $2 AND digest = $3")
	qDropContent = prepared(`DELETE FROM part_contents WHERE id = $1
	AND NOT EXISTS (SELECT FROM part_refs r WHERE r.space = part_contents.space AND r.digest = part_contents.digest)`)
	qDropChunks = prepared(`DELETE FROM part_chunks WHERE content = $1
	AND NOT EXISTS (SELECT FROM part_contents WHERE id = $1)`)
)

// sweptRef is a reference as a sweep finds it.
type sweptRef struct {
	key     blobstore.Key
	digest  blobstore.Digest
	keep    time.Duration
	pending bool
	// old is set if the reference was held for the last time before the grace time.
	old bool
	// ended is zero for an open task, and negative for a task that does not exist.
	ended int64
}

// due reports whether the part is kept no longer.
func (r *sweptRef) due(now time.Time) bool {
	if r.ended < 0 {
		return r.old // the task may be about to be created
	}
	return r.ended > 0 && now.Sub(time.UnixMilli(r.ended)) >= r.keep && (r.old || !r.pending)
}

// Sweep implements blobstore.Store.
func (p *Parts) Sweep(ctx context.Context, tasks blobstore.Tasks, now time.Time) (removed int, err error) {
	var after sweptRef
	var errs []error
	for first := true; ctx.Err() == nil; first = false {
		page, err := p.sweepPage(ctx, &after, first)
		if err != nil {
			return removed, errors.Join(append(errs, fmt.Errorf("sweep parts: %w", err))...)
		}
		for i := range page {
			gone, err := p.sweepRef(ctx, tasks, &page[i], now)
			if gone {
				removed++
			}
			if errs = append(errs, err); errors.Is(err, task.ErrUnavailable) {
				return removed, errors.Join(errs...)
			}
		}
		if len(page) < sweepPage {
			break
		}
		after = page[len(page)-1]
	}
	return removed, errors.Join(errs...)
}

func (p *Parts) sweepPage(ctx context.Context, after *sweptRef, first bool) (page []sweptRef, err error) {
	err = p.db.read(ctx, func(c *conn) error {
		page = nil
		s := c.start(qSweepRefs)
		if first {
			s.text("")
			s.text("")
			s.text("")
		} else {
			bindRef(&s, after.key, after.digest)
		}
		s.int(sweepPage)
		for s.next() {
			r := sweptRef{key: blobstore.Key{Owner: task.Owner(s.Text()), Task: a2a.TaskID(s.ID())}}
			if copy(r.digest[:], s.Blob()) != len(r.digest) {
				return fmt.Errorf("digest of a part: %w", task.ErrCorrupt)
			}
			r.keep = time.Duration(s.Int()) * time.Second
			r.pending, r.old, r.ended = s.getBool(), s.getBool(), s.Int()
			page = append(page, r)
		}
		return s.err
	})
	return page, err
}

// sweepRef removes a reference that is due, and settles one whose change has an unknown outcome.
func (p *Parts) sweepRef(ctx context.Context, tasks blobstore.Tasks, r *sweptRef, now time.Time) (gone bool, err error) {
	if r.due(now) {
		err := p.remove(qDropRef, r.key, r.digest)
		return err == nil, err
	}
	if !r.pending || !r.old {
		return false, nil
	}
	named, err := tasks.Names(ctx, r.key, r.digest)
	switch {
	case errors.Is(err, task.ErrNotFound):
		return false, nil // the next sweep finds that the task is gone
	case err != nil:
		return false, err
	case named:
		return false, p.settle(qKeepRef, r.key, r.digest)
	}
	err = p.remove(qDropRef, r.key, r.digest)
	return err == nil, err
}

// remove deletes a reference with the statement q, and the content with its last reference.
func (p *Parts) remove(q query, k blobstore.Key, d blobstore.Digest) error {
	return p.db.read(context.Background(), func(c *conn) error {
		if err := c.run(qBeginNow); err != nil {
			return err
		}
		s := c.start(qLockContent)
		bindRef(&s, k, d)
		var content int64
		if s.next() {
			content = s.Int()
		}
		if s.err != nil {
			return s.err
		}
		s = c.start(q)
		bindRef(&s, k, d)
		if err := s.done(); err != nil {
			return err
		}
		for _, q := range []query{qDropContent, qDropChunks} {
			s = c.start(q)
			s.int(content)
			if err := s.done(); err != nil {
				return err
			}
		}
		return c.run(qCommit)
	})
}
