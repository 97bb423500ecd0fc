package shards

import (
	"context"
	"errors"

	"github.com/parley-a2a/parley/internal/task"
	"github.com/parley-a2a/parley/store/pgstore"
)

// PutHook implements task.Hooks.
func (t Tasks) PutHook(ctx context.Context, h *task.Hook) error {
	return t.use(h.Task, func(in pgstore.Tasks, inside task.Key) error {
		hook := *h
		hook.Task = inside
		return in.PutHook(ctx, &hook)
	})
}

// Hooks implements task.Hooks.
func (t Tasks) Hooks(ctx context.Context, key task.Key, after string, limit int) (all []task.Hook, err error) {
	err = t.use(key, func(in pgstore.Tasks, inside task.Key) (err error) {
		all, err = in.Hooks(ctx, inside, after, limit)
		return err
	})
	for i := range all {
		all[i].Task = key
	}
	return all, missing(err)
}

// DropHook implements task.Hooks.
func (t Tasks) DropHook(ctx context.Context, ref task.HookRef) error {
	return missing(t.use(ref.Task, func(in pgstore.Tasks, inside task.Key) error {
		return in.DropHook(ctx, task.HookRef{Task: inside, ID: ref.ID})
	}))
}

// refInside returns the position in the shard that follows a position in all shards.
func (s *shard) refInside(after task.HookRef) task.HookRef {
	if number, key := local(after.Task); number == s.number {
		return task.HookRef{Task: key, ID: after.ID}
	}
	return task.HookRef{Task: s.inside(after.Task)}
}

// Unsettled implements task.HookWork.
func (t Tasks) Unsettled(ctx context.Context, after task.HookRef, limit int) ([]task.Hooked, error) {
	return pages(t.DB, after.Task, limit, func(s *shard, in pgstore.Tasks, _ task.Key, limit int) ([]task.Hooked, error) {
		all, err := in.Unsettled(ctx, s.refInside(after), limit)
		return s.hookeds(all), err
	})
}

// Advance implements task.HookWork. The steps of each shard are stored together.
func (t Tasks) Advance(ctx context.Context, steps []task.HookStep) error {
	var errs []error
	for _, s := range t.all {
		var here []task.HookStep
		for _, step := range steps {
			if number, inside := local(step.Task); number == s.number {
				step.Task = inside
				here = append(here, step)
			}
		}
		if len(here) > 0 {
			errs = append(errs, s.use(func(in pgstore.Tasks) error { return in.Advance(ctx, here) }))
		}
	}
	return errors.Join(errs...)
}

// FindHooks implements task.HookAdmin.
func (t Tasks) FindHooks(ctx context.Context, q *task.HookQuery) ([]task.Hooked, error) {
	return pages(t.DB, q.After.Task, q.Limit, func(s *shard, in pgstore.Tasks, _ task.Key, limit int) ([]task.Hooked, error) {
		here := *q
		here.After, here.Limit = s.refInside(q.After), limit
		all, err := in.FindHooks(ctx, &here)
		return s.hookeds(all), err
	})
}

// DeadLetters implements task.HookAdmin.
func (t Tasks) DeadLetters(ctx context.Context, ref task.HookRef) (all []task.DeadLetter, err error) {
	err = t.use(ref.Task, func(in pgstore.Tasks, inside task.Key) (err error) {
		all, err = in.DeadLetters(ctx, task.HookRef{Task: inside, ID: ref.ID})
		return err
	})
	return all, missing(err)
}

// Revive implements task.HookAdmin.
func (t Tasks) Revive(ctx context.Context, ref task.HookRef) (h task.Hooked, err error) {
	s, inside, err := t.with(ref.Task)
	if err != nil {
		return h, err
	}
	err = s.use(func(in pgstore.Tasks) (err error) {
		h, err = in.Revive(ctx, task.HookRef{Task: inside, ID: ref.ID})
		return err
	})
	return s.hooked(h), err
}
