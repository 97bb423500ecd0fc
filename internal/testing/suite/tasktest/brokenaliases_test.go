package tasktest_test

import (
	"context"
	"errors"
	"maps"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/internal/task"
)

// brokenAliases holds a method for aliases that replaces that of a memory store.
type brokenAliases struct {
	byAlias func(context.Context, task.Owner, task.Agent, string) (task.Head, error)
}

func (b *brokenAliases) ByAlias(ctx context.Context, owner task.Owner, agent task.Agent, alias string) (task.Head, error) {
	return b.byAlias(ctx, owner, agent, alias)
}

func init() { maps.Copy(defects, aliasDefects) }

var aliasDefects = map[string]defect{
	"aliases forgotten": {
		"AliasNewest|AliasScope|AliasHidden|AliasSweep",
		func(b *broken) { b.append = changed(b, func(c *task.Change) { c.Alias = "" }) },
	},
	"aliases of every agent": {"AliasScope", func(b *broken) {
		b.byAlias = func(ctx context.Context, owner task.Owner, _ task.Agent, alias string) (task.Head, error) {
			return b.Store.ByAlias(ctx, owner, "", alias)
		}
	}},
	"aliases of every owner": {"AliasScope", func(b *broken) {
		b.byAlias = func(ctx context.Context, owner task.Owner, agent task.Agent, alias string) (task.Head, error) {
			h, err := b.Store.ByAlias(ctx, owner, agent, alias)
			if err != nil && owner != "anna" {
				return b.Store.ByAlias(ctx, "anna", agent, alias)
			}
			return h, err
		}
	}},
	"aliases of refused changes": {"AliasConflict", func(b *broken) {
		b.append = func(ctx context.Context, c *task.Change) error {
			err := b.Store.Append(ctx, c)
			if err != nil && c.Alias != "" {
				if h, e := b.Store.Head(ctx, c.Next.Owner, c.Next.ID); e == nil {
					next := h
					next.Rev++
					_ = b.Store.Append(ctx, &task.Change{Prev: h, Next: next, Alias: c.Alias})
				}
			}
			return err
		}
	}},
	"aliases with a canceled context": {"AliasNewest", func(b *broken) {
		b.byAlias = func(_ context.Context, owner task.Owner, agent task.Agent, alias string) (task.Head, error) {
			return b.Store.ByAlias(context.Background(), owner, agent, alias)
		}
	}},
	"task that was named last": {"AliasNewest", func(b *broken) {
		var last a2a.TaskID
		b.append = func(ctx context.Context, c *task.Change) error {
			if c.Alias == "m2" {
				last = c.Next.ID
			}
			return b.Store.Append(ctx, c)
		}
		b.byAlias = func(ctx context.Context, owner task.Owner, agent task.Agent, alias string) (task.Head, error) {
			if alias == "m2" && last != "" {
				return b.Store.Head(ctx, owner, last)
			}
			return b.Store.ByAlias(ctx, owner, agent, alias)
		}
	}},
	"hidden tasks found": {"AliasHidden", func(b *broken) {
		b.byAlias = func(ctx context.Context, owner task.Owner, agent task.Agent, alias string) (task.Head, error) {
			if h, err := b.Store.Head(ctx, owner, "t2"); err == nil && h.Visibility != task.Visible {
				return h, nil
			}
			return b.Store.ByAlias(ctx, owner, agent, alias)
		}
	}},
	"aliases outlive tasks": {"AliasSweep", func(b *broken) {
		var old task.Head
		b.sweep = func(ctx context.Context, before task.Millis, limit int) (int, error) {
			old, _ = b.Store.ByAlias(ctx, "anna", "", "n")
			return b.Store.Sweep(ctx, before, limit)
		}
		b.byAlias = func(ctx context.Context, owner task.Owner, agent task.Agent, alias string) (task.Head, error) {
			h, err := b.Store.ByAlias(ctx, owner, agent, alias)
			if errors.Is(err, task.ErrNotFound) && alias == "n" && old.Key != 0 {
				return old, nil
			}
			return h, err
		}
	}},
}
