package tasktest_test

import (
	"context"
	"slices"

	"github.com/parley-a2a/parley/internal/store/memstore"
	"github.com/parley-a2a/parley/internal/task"
)

// brokenHooks holds methods for hooks that replace those of a memory store if they are not nil.
type brokenHooks struct {
	m         *memstore.Store
	put       func(context.Context, *task.Hook) error
	hooks     func(context.Context, task.Key, string, int) ([]task.Hook, error)
	unsettled func(context.Context, task.HookRef, int) ([]task.Hooked, error)
	advance   func(context.Context, []task.HookStep) error
	find      func(context.Context, *task.HookQuery) ([]task.Hooked, error)
	revive    func(context.Context, task.HookRef) (task.Hooked, error)
}

func soundHooks(m *memstore.Store) brokenHooks {
	return brokenHooks{
		m: m, put: m.PutHook, hooks: m.Hooks, unsettled: m.Unsettled, advance: m.Advance, find: m.FindHooks, revive: m.Revive,
	}
}

func (b *brokenHooks) PutHook(ctx context.Context, h *task.Hook) error { return b.put(ctx, h) }

func (b *brokenHooks) Hooks(ctx context.Context, key task.Key, after string, limit int) ([]task.Hook, error) {
	return b.hooks(ctx, key, after, limit)
}

func (b *brokenHooks) DropHook(ctx context.Context, ref task.HookRef) error {
	return b.m.DropHook(ctx, ref)
}

func (b *brokenHooks) Unsettled(ctx context.Context, after task.HookRef, limit int) ([]task.Hooked, error) {
	return b.unsettled(ctx, after, limit)
}

func (b *brokenHooks) Advance(ctx context.Context, steps []task.HookStep) error {
	return b.advance(ctx, steps)
}

func (b *brokenHooks) FindHooks(ctx context.Context, q *task.HookQuery) ([]task.Hooked, error) {
	return b.find(ctx, q)
}

func (b *brokenHooks) DeadLetters(ctx context.Context, ref task.HookRef) ([]task.DeadLetter, error) {
	return b.m.DeadLetters(ctx, ref)
}

func (b *brokenHooks) Revive(ctx context.Context, ref task.HookRef) (task.Hooked, error) {
	return b.revive(ctx, ref)
}

// stepped returns an Advance that modifies steps before they are stored.
func stepped(b *broken, alter func(*task.HookStep)) func(context.Context, []task.HookStep) error {
	return func(ctx context.Context, steps []task.HookStep) error {
		steps = slices.Clone(steps)
		for i := range steps {
			alter(&steps[i])
		}
		return b.Store.Advance(ctx, steps)
	}
}

// replaced stores a hook and gives it the dead letters of its predecessor.
func (b *broken) replaced(ctx context.Context, h *task.Hook) error {
	letters, err := b.Store.DeadLetters(ctx, h.Ref())
	if err != nil {
		return err
	}
	if err := b.Store.PutHook(ctx, h); err != nil {
		return err
	}
	for _, d := range letters {
		if err := b.Store.Advance(ctx, []task.HookStep{{HookRef: h.Ref(), Lost: &d}}); err != nil {
			return err
		}
	}
	return nil
}

var hookDefects = map[string]defect{
	"hook of a change forgotten": {"HookCreate|HookAppend|HookModel", func(b *broken) {
		b.append = changed(b, func(c *task.Change) { c.Hook = nil })
	}},
	"hook of a conflict stored": {"HookConflict|HookModel", func(b *broken) {
		b.append = func(ctx context.Context, c *task.Change) error {
			err := b.Store.Append(ctx, c)
			if err != nil && c.Hook != nil && c.Prev.Key != 0 {
				h := *c.Hook
				h.Task = c.Prev.Key
				_ = b.Store.PutHook(ctx, &h)
			}
			return err
		}
	}},
	"replaced hooks keep dead letters": {"HookReplace|HookModel", func(b *broken) { b.put = b.replaced }},
	"hooks move back": {"HookAdvance|HookModel", func(b *broken) {
		b.advance = func(ctx context.Context, steps []task.HookStep) error {
			for _, s := range steps {
				hooks, err := b.Store.Hooks(ctx, s.Task, "", 100)
				if err != nil {
					return err
				}
				for _, h := range hooks {
					if letters, _ := b.Store.DeadLetters(ctx, h.Ref()); h.ID == s.ID && h.Position > s.Position && len(letters) == 0 {
						h.Position = s.Position
						_ = b.Store.PutHook(ctx, &h)
					}
				}
				if err := b.Store.Advance(ctx, []task.HookStep{s}); err != nil {
					return err
				}
			}
			return nil
		}
	}},
	"hooks never settle": {"HookAdvance|HookUnsettled|HookRevive|HookModel", func(b *broken) {
		b.advance = stepped(b, func(s *task.HookStep) { s.Settled = false })
	}},
	"dead letters lost": {"HookReplace|HookFind|HookLetters|HookRevive|HookSweep|HookModel", func(b *broken) {
		b.advance = stepped(b, func(s *task.HookStep) { s.Lost = nil })
	}},
	"only the first step counts": {"HookReplace|HookAdvance|HookLetters|HookRevive|HookSweep|HookModel", func(b *broken) {
		b.advance = func(ctx context.Context, steps []task.HookStep) error {
			return b.Store.Advance(ctx, steps[:min(len(steps), 1)])
		}
	}},
	"unsettled hooks skipped": {"HookKeep|HookUnsettled|HookAppend|HookRevive|HookModel", func(b *broken) {
		b.unsettled = func(ctx context.Context, after task.HookRef, limit int) ([]task.Hooked, error) {
			if after.Task != 0 {
				after.ID = "zz"
			}
			return b.Store.Unsettled(ctx, after, limit)
		}
	}},
	"hooks without limit": {"HookPages", func(b *broken) {
		b.hooks = func(ctx context.Context, key task.Key, after string, _ int) ([]task.Hook, error) {
			return b.Store.Hooks(ctx, key, after, 1000)
		}
	}},
	"secrets lost": {"HookKeep|HookCreate|HookAppend|HookConflict|HookReplace|HookPages|HookMissing|HookAdvance|HookRevive|HookRace|HookCancellation", func(b *broken) {
		b.hooks = func(ctx context.Context, key task.Key, after string, limit int) ([]task.Hook, error) {
			hooks, err := b.Store.Hooks(ctx, key, after, limit)
			for i := range hooks {
				hooks[i].Secret = nil
			}
			return hooks, err
		}
	}},
	"find does not filter": {"HookFind|HookModel", func(b *broken) {
		b.find = func(ctx context.Context, q *task.HookQuery) ([]task.Hooked, error) {
			mine := *q
			mine.Task = ""
			return b.Store.FindHooks(ctx, &mine)
		}
	}},
	"find includes the living": {"HookFind|HookModel", func(b *broken) {
		b.find = func(ctx context.Context, q *task.HookQuery) ([]task.Hooked, error) {
			mine := *q
			mine.Dead = false
			return b.Store.FindHooks(ctx, &mine)
		}
	}},
	"revive goes to the start": {"HookRevive|HookModel", func(b *broken) {
		b.revive = func(ctx context.Context, ref task.HookRef) (task.Hooked, error) {
			h, err := b.Store.Revive(ctx, ref)
			if err == nil && h.Position > 0 {
				h.Position--
				err = b.Store.PutHook(ctx, &h.Hook)
			}
			return h, err
		}
	}},
}
