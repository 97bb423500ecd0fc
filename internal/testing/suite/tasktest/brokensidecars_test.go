package tasktest_test

import (
	"bytes"
	"context"
	"maps"

	"github.com/parley-a2a/parley/internal/store/memstore"
	"github.com/parley-a2a/parley/internal/task"
)

// brokenSidecars holds methods for sidecars that replace those of a memory store.
type brokenSidecars struct {
	sidecar  func(context.Context, task.Key, task.SidecarKind) ([]byte, error)
	sidecars func(context.Context, *task.SidecarQuery) ([]task.Sidecar, error)
	drop     func(context.Context, task.Key, task.SidecarKind) error
}

func soundSidecars(m *memstore.Store) brokenSidecars {
	return brokenSidecars{m.Sidecar, m.Sidecars, m.DropSidecar}
}

func (b *brokenSidecars) Sidecar(ctx context.Context, key task.Key, kind task.SidecarKind) ([]byte, error) {
	return b.sidecar(ctx, key, kind)
}

func (b *brokenSidecars) Sidecars(ctx context.Context, q *task.SidecarQuery) ([]task.Sidecar, error) {
	return b.sidecars(ctx, q)
}

func (b *brokenSidecars) DropSidecar(ctx context.Context, key task.Key, kind task.SidecarKind) error {
	return b.drop(ctx, key, kind)
}

func init() { maps.Copy(defects, sidecarDefects) }

// querying returns a method Sidecars that modifies queries.
func querying(b *broken, alter func(*task.SidecarQuery)) func(context.Context, *task.SidecarQuery) ([]task.Sidecar, error) {
	return func(ctx context.Context, q *task.SidecarQuery) ([]task.Sidecar, error) {
		mine := *q
		alter(&mine)
		return b.Store.Sidecars(ctx, &mine)
	}
}

var sidecarDefects = map[string]defect{
	"checkpoint of a change forgotten": {"SidecarKeep|SidecarDrop|SidecarPages|SidecarConflict|SidecarSweep", func(b *broken) {
		b.append = changed(b, func(c *task.Change) { c.Sidecars[task.SidecarCheckpoint] = nil })
	}},
	"record request of a change forgotten": {"SidecarKeep|SidecarDrop|SidecarPages|SidecarSweep", func(b *broken) {
		b.append = changed(b, func(c *task.Change) { c.Sidecars[task.SidecarRecordRequest] = nil })
	}},
	"first sidecar kept": {"SidecarKeep", func(b *broken) {
		b.append = changed(b, func(c *task.Change) {
			for kind := range task.SidecarKinds {
				if had, _ := b.Store.Sidecar(context.Background(), c.Next.Key, kind); had != nil {
					c.Sidecars[kind] = nil
				}
			}
		})
	}},
	"sidecar of a loser": {"SidecarConflict", func(b *broken) {
		kept := map[task.Key][]byte{}
		b.append = func(ctx context.Context, c *task.Change) error {
			err := b.Store.Append(ctx, c)
			if data := c.Sidecars[task.SidecarCheckpoint]; data != nil {
				kept[c.Next.Key] = bytes.Clone(data)
			}
			return err
		}
		b.sidecar = func(ctx context.Context, key task.Key, kind task.SidecarKind) ([]byte, error) {
			had, err := b.Store.Sidecar(ctx, key, kind)
			if err != nil || had == nil || kind != task.SidecarCheckpoint {
				return had, err
			}
			return bytes.Clone(kept[key]), nil
		}
	}},
	"sidecar not deleted": {"SidecarDrop", func(b *broken) {
		b.drop = func(context.Context, task.Key, task.SidecarKind) error { return nil }
	}},
	"all sidecars deleted": {"SidecarDrop", func(b *broken) {
		b.drop = func(ctx context.Context, key task.Key, _ task.SidecarKind) (err error) {
			for kind := range task.SidecarKinds {
				err = b.Store.DropSidecar(ctx, key, kind)
			}
			return err
		}
	}},
	"sidecars of one page": {"SidecarPages|Lineage", func(b *broken) {
		b.sidecars = func(ctx context.Context, q *task.SidecarQuery) ([]task.Sidecar, error) {
			if q.After != 0 {
				return nil, nil
			}
			return b.Store.Sidecars(ctx, q)
		}
	}},
	"sidecars of one kind": {"SidecarPages|Lineage|LineageSweep", func(b *broken) {
		b.sidecars = querying(b, func(q *task.SidecarQuery) { q.Kind = task.SidecarCheckpoint })
	}},
	"records forgotten": {"JournalKeep|JournalPages|JournalConflict|JournalForget|JournalSweep", func(b *broken) {
		b.append = changed(b, func(c *task.Change) { c.Journal = nil })
	}},
	"record stored twice": {"JournalKeep", func(b *broken) {
		b.append = changed(b, func(c *task.Change) {
			if had, _ := b.Store.Journal(context.Background(), c.Next.Key, 0); len(had) > 0 {
				for i := range c.Journal {
					c.Journal[i].Number = had[len(had)-1].Number + int64(i) + 1
				}
			}
		})
	}},
	"journal never forgotten": {"JournalForget", func(b *broken) {
		b.append = changed(b, func(c *task.Change) { c.Forget = false })
	}},
	"lineage forgotten": {"Lineage|LineageSweep", func(b *broken) {
		b.append = changed(b, func(c *task.Change) {
			if c.Check() == nil {
				c.Sidecars[task.SidecarLineage] = nil
			}
		})
	}},
	"children of all parents": {"Lineage", func(b *broken) {
		b.sidecars = querying(b, func(q *task.SidecarQuery) { q.Parent = 0 })
	}},
}
