package shards

import (
	"cmp"
	"context"
	"errors"

	"github.com/parley-a2a/parley/internal/task"
	"github.com/parley-a2a/parley/store/pgstore"
)

// PutHook implements task.Hooks.
func (t Tasks) PutHook(ctx context.Context, h *task.Hook) error {
	return t.ofTask(ctx, h.Task, func(in pgstore.Tasks) error { return in.PutHook(ctx, h) })
}

// Hooks implements task.Hooks.
func (t Tasks) Hooks(ctx context.Context, key task.Key, after string, limit int) (all []task.Hook, err error) {
	err = t.ofTask(ctx, key, func(in pgstore.Tasks) (err error) {
		all, err = in.Hooks(ctx, key, after, limit)
		return err
	})
	return all, missing(err)
}

// DropHook implements task.Hooks.
func (t Tasks) DropHook(ctx context.Context, ref task.HookRef) error {
	return missing(t.ofTask(ctx, ref.Task, func(in pgstore.Tasks) error { return in.DropHook(ctx, ref) }))
}

// Unsettled implements task.HookWork.
func (t Tasks) Unsettled(ctx context.Context, after task.HookRef, limit int) ([]task.Hooked, error) {
	return pages(ctx, t.DB, hooksFrom(after, limit), func(in pgstore.Tasks, after task.HookRef) ([]task.Hooked, error) {
		return in.Unsettled(ctx, after, limit)
	})
}

// hooksFrom reads hooks in the order of their refs.
func hooksFrom(after task.HookRef, limit int) paging[task.Hooked, task.HookRef] {
	return paging[task.Hooked, task.HookRef]{
		after: after, limit: limit,
		head:     func(h *task.Hooked) *task.Head { return &h.Head },
		position: func(h *task.Hooked) task.HookRef { return task.HookRef{Task: h.Task, ID: h.ID} },
		order: func(a, b task.HookRef) int {
			return cmp.Or(cmp.Compare(a.Task, b.Task), cmp.Compare(a.ID, b.ID))
		},
	}
}

// Advance implements task.HookWork. The steps of each shard are stored together.
func (t Tasks) Advance(ctx context.Context, steps []task.HookStep) error {
	keys := make([]task.Key, len(steps))
	for i := range steps {
		keys[i] = steps[i].Task
	}
	var errs []error
	err := t.ofTasks(ctx, keys, func(s *shard, at []int) error {
		here := pick(steps, at)
		errs = append(errs, s.use(func(in pgstore.Tasks) error { return in.Advance(ctx, here) }))
		return nil
	})
	return errors.Join(append(errs, err)...)
}

// FindHooks implements task.HookAdmin.
func (t Tasks) FindHooks(ctx context.Context, q *task.HookQuery) ([]task.Hooked, error) {
	return pages(ctx, t.DB, hooksFrom(q.After, q.Limit), func(in pgstore.Tasks, after task.HookRef) ([]task.Hooked, error) {
		here := *q
		here.After = after
		return in.FindHooks(ctx, &here)
	})
}

// DeadLetters implements task.HookAdmin.
func (t Tasks) DeadLetters(ctx context.Context, ref task.HookRef) (all []task.DeadLetter, err error) {
	err = t.ofTask(ctx, ref.Task, func(in pgstore.Tasks) (err error) {
		all, err = in.DeadLetters(ctx, ref)
		return err
	})
	return all, missing(err)
}

// Revive implements task.HookAdmin.
func (t Tasks) Revive(ctx context.Context, ref task.HookRef) (h task.Hooked, err error) {
	err = t.ofTask(ctx, ref.Task, func(in pgstore.Tasks) (err error) {
		h, err = in.Revive(ctx, ref)
		return err
	})
	return h, err
}
