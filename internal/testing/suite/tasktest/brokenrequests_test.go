package tasktest_test

import (
	"context"
	"errors"
	"maps"

	"github.com/parley-a2a/parley/internal/store/memstore"
	"github.com/parley-a2a/parley/internal/task"
)

// brokenRequests holds methods for requests that replace those of a memory store.
type brokenRequests struct {
	request       func(context.Context, task.Owner, task.Agent, string) (task.Requested, error)
	sweepRequests func(context.Context, task.Millis, int) (int, error)
}

func soundRequests(m *memstore.Store) brokenRequests {
	return brokenRequests{request: m.Request, sweepRequests: m.SweepRequests}
}

func (b *brokenRequests) Request(ctx context.Context, owner task.Owner, agent task.Agent, key string) (task.Requested, error) {
	return b.request(ctx, owner, agent, key)
}

func (b *brokenRequests) SweepRequests(ctx context.Context, before task.Millis, limit int) (int, error) {
	return b.sweepRequests(ctx, before, limit)
}

func init() { maps.Copy(defects, requestDefects) }

var requestDefects = map[string]defect{
	"request of a change forgotten": {
		"RequestKeep|RequestUsed|RequestScope|RequestReplace|RequestConflict|RequestSweep|RequestTaskSweep|RequestRace|RequestCancellation",
		func(b *broken) { b.append = changed(b, func(c *task.Change) { c.Request = nil }) },
	},
	"keys last for ever": {"RequestReplace|RequestConflict", func(b *broken) {
		b.append = changed(b, func(c *task.Change) {
			if c.Request != nil {
				r := *c.Request
				r.Since = 0
				c.Request = &r
			}
		})
	}},
	"keys are taken twice": {"RequestUsed|RequestReplace|RequestRace", func(b *broken) {
		b.append = func(ctx context.Context, c *task.Change) error {
			err := b.Store.Append(ctx, c)
			if errors.Is(err, task.ErrKeyUsed) {
				r := *c.Request
				r.Since = r.At + 1
				mine := *c
				mine.Request = &r
				if err = b.Store.Append(ctx, &mine); err == nil {
					c.Next.Key = mine.Next.Key
				}
			}
			return err
		}
	}},
	"keys of every owner": {"RequestScope", func(b *broken) {
		b.append = func(ctx context.Context, c *task.Change) error {
			if c.Request != nil && c.Next.Owner != "anna" {
				if _, err := b.Store.Request(ctx, "anna", c.Next.Agent, c.Request.Key); err == nil {
					return task.ErrKeyUsed
				}
			}
			return b.Store.Append(ctx, c)
		}
	}},
	"request of a conflict stored": {"RequestConflict", func(b *broken) {
		b.append = func(ctx context.Context, c *task.Change) error {
			err := b.Store.Append(ctx, c)
			if errors.Is(err, task.ErrConflict) && c.Request != nil {
				h, e := b.Store.Head(ctx, c.Next.Owner, c.Next.ID)
				if e != nil {
					return e
				}
				next := h
				next.Rev++
				_ = b.Store.Append(ctx, &task.Change{Prev: h, Next: next, Request: c.Request})
			}
			return err
		}
	}},
	"fingerprints shared": {"RequestKeep", func(b *broken) {
		kept := map[string][]byte{}
		b.request = func(ctx context.Context, owner task.Owner, agent task.Agent, key string) (task.Requested, error) {
			r, err := b.Store.Request(ctx, owner, agent, key)
			if err == nil {
				if kept[key] == nil {
					kept[key] = r.Fingerprint
				}
				r.Fingerprint = kept[key]
			}
			return r, err
		}
	}},
	"requests swept without limit": {"RequestSweep", func(b *broken) {
		b.sweepRequests = func(ctx context.Context, before task.Millis, _ int) (int, error) {
			return b.Store.SweepRequests(ctx, before, 1000)
		}
	}},
	"requests swept too late": {"RequestSweep", func(b *broken) {
		b.sweepRequests = func(ctx context.Context, before task.Millis, limit int) (int, error) {
			return b.Store.SweepRequests(ctx, before-1, limit)
		}
	}},
}
