package engine

import (
	"context"
	"errors"
	"math"

	"github.com/parley-a2a/parley/internal/membudget"
	"github.com/parley-a2a/parley/internal/op"
	"github.com/parley-a2a/parley/internal/task"
)

// listBytes is the size of the tasks of a page after which it ends, even if it has fewer tasks than its
// caller has asked for.
const listBytes = 8 << 20

// listing collects the tasks of a page. If they are large, they need memory from the budget, which is
// acquired once, so that pages never wait for each other.
type listing struct {
	engine *Engine
	tasks  []op.Answer
	size   int
	hold   *membudget.Hold
}

// add adds tasks until the page is full. It reads a whole task only if the page shows something
// that is not in its head.
func (l *listing) add(ctx context.Context, heads []task.Head, r *op.List) error {
	none := 0
	history := &none
	if r.HistoryLength != nil {
		history = r.HistoryLength
	}
	for i := range heads {
		if l.size > listBytes {
			return nil
		}
		l.size += len(heads[i].StatusMessage)
		var f *task.Fold
		if r.IncludeArtifacts || *history != 0 || heads[i].Others {
			var err error
			f, err = l.fold(ctx, &heads[i])
			if errors.Is(err, task.ErrCorrupt) {
				f, err = new(task.Fold), nil // the store has reported it; its head is shown alone
			}
			if err != nil {
				return err
			}
		}
		l.tasks = append(l.tasks, op.Answer{})
		setAnswer(&l.tasks[len(l.tasks)-1], &heads[i], f, history)
	}
	return nil
}

// fold returns a whole task.
func (l *listing) fold(ctx context.Context, h *task.Head) (*task.Fold, error) {
	most := math.MaxInt
	if l.hold == nil {
		most = largeLog - min(l.size, largeLog)
	}
	f, err := l.engine.foldUpTo(ctx, h, most)
	if errors.Is(err, errLargeLog) {
		if l.hold, err = l.engine.awaitMemory(ctx, foldNeed); err == nil {
			f, err = l.engine.foldUpTo(ctx, h, math.MaxInt)
		}
	}
	l.size += f.size
	return f.Fold, err
}

// keep keeps the memory until ctx ends.
func (l *listing) keep(ctx context.Context) {
	if l.hold == nil {
		return
	}
	l.hold.Resize(answerFactor * int64(l.size))
	context.AfterFunc(ctx, l.hold.Release)
}
