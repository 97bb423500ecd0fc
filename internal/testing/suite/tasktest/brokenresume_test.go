package tasktest_test

import (
	"context"
	"maps"

	"github.com/parley-a2a/parley/store/memstore"
	"github.com/parley-a2a/parley/task"
)

// brokenResume holds methods for checkpoints and lineages that replace those of a memory store.
type brokenResume struct {
	checkpoint func(context.Context, task.Key) ([]byte, error)
	lineage    func(context.Context, task.Key) (task.Lineage, error)
	children   func(context.Context, task.Key, task.Key, int) ([]task.Head, error)
}

func soundResume(m *memstore.Store) brokenResume {
	return brokenResume{m.Checkpoint, m.Lineage, m.Children}
}

func (b *brokenResume) Checkpoint(ctx context.Context, key task.Key) ([]byte, error) {
	return b.checkpoint(ctx, key)
}

func (b *brokenResume) Lineage(ctx context.Context, key task.Key) (task.Lineage, error) {
	return b.lineage(ctx, key)
}

func (b *brokenResume) Children(ctx context.Context, parent, after task.Key, limit int) ([]task.Head, error) {
	return b.children(ctx, parent, after, limit)
}

func init() { maps.Copy(defects, resumeDefects) }

var resumeDefects = map[string]defect{
	"checkpoint of a change forgotten": {"CheckpointKeep|CheckpointConflict|CheckpointSweep", func(b *broken) {
		b.append = changed(b, func(c *task.Change) { c.Checkpoint = nil })
	}},
	"first checkpoint kept": {"CheckpointKeep", func(b *broken) {
		b.append = changed(b, func(c *task.Change) {
			if had, _ := b.Store.Checkpoint(context.Background(), c.Next.Key); had != nil {
				c.Checkpoint = nil
			}
		})
	}},
	"checkpoint of a loser": {"CheckpointConflict", func(b *broken) {
		kept := map[task.Key][]byte{}
		b.append = func(ctx context.Context, c *task.Change) error {
			err := b.Store.Append(ctx, c)
			if c.Checkpoint != nil {
				kept[c.Next.Key] = append([]byte(nil), c.Checkpoint...)
			}
			return err
		}
		b.checkpoint = func(ctx context.Context, key task.Key) ([]byte, error) {
			had, err := b.Store.Checkpoint(ctx, key)
			if err != nil || had == nil {
				return nil, err
			}
			return append([]byte(nil), kept[key]...), nil
		}
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
	"lineage forgotten": {"LineageKeep|LineageSweep", func(b *broken) {
		b.append = changed(b, func(c *task.Change) {
			if c.Next.Rev == 1 && c.Lineage != nil && c.Lineage.Parent != 0 {
				c.Lineage = nil
			}
		})
	}},
	"children of one page": {"LineageKeep", func(b *broken) {
		b.children = func(ctx context.Context, parent, after task.Key, limit int) ([]task.Head, error) {
			if after != 0 {
				return nil, nil
			}
			return b.Store.Children(ctx, parent, after, limit)
		}
	}},
	"children of everybody": {"LineageKeep", func(b *broken) {
		b.append = changed(b, func(c *task.Change) {
			if c.Lineage != nil && c.Next.Rev == 1 && c.Lineage.Parent != 0 {
				c.Lineage = &task.Lineage{Parent: 1, Root: 1, Hops: c.Lineage.Hops}
			}
		})
	}},
}
