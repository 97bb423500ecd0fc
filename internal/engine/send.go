package engine

import (
	"context"
	"errors"
	"math"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/internal/apierror"
	"github.com/parley-a2a/parley/internal/audit"
	"github.com/parley-a2a/parley/internal/membudget"
	"github.com/parley-a2a/parley/internal/op"
	"github.com/parley-a2a/parley/internal/policy"
	"github.com/parley-a2a/parley/internal/task"
)

// Send admits a message. Unless r asks for an immediate return, it waits until the task has
// ended or waits for the caller, at most for Config.MaxWait. A caller that disconnects changes
// nothing.
func (e *Engine) Send(ctx context.Context, c *op.Caller, r *op.Send) (*Answer, error) {
	a := admission{engine: e, caller: c, send: r, wait: !r.ReturnImmediately}
	ad, err := a.admit(ctx)
	if err != nil {
		return nil, err
	}
	defer e.live.release(ad.live)
	stored(c, r)
	if !r.ReturnImmediately {
		if err := e.awaitOutcome(ctx, ad); err != nil {
			return nil, err
		}
	}
	answer, err := e.answer(ctx, ad.live, r.HistoryLength)
	if answer != nil {
		answer.Confirmed = ad.live.confirmation(ad.version)
	}
	return answer, err
}

// stored releases the memory of a large message that is stored.
func stored(c *op.Caller, r *op.Send) {
	if c.Admitted != nil {
		r.Message.Body = nil
		c.Admitted()
	}
}

// awaitOutcome waits until the admitted message has been processed.
func (e *Engine) awaitOutcome(ctx context.Context, ad *admitted) error {
	l := ad.live
	var unread bool
	var trouble error
	_, err := e.await(ctx, l, func() bool {
		h := &l.head
		unread = h.State.Terminal() && h.Consumed < ad.version && !ad.joined
		trouble = l.trouble
		return trouble != nil || l.answer != nil || l.refusal != nil || h.State.Terminal() ||
			ad.dealtWithLocked() || ad.joined && h.State.Interrupted()
	})
	if err != nil {
		return err
	}
	if trouble != nil {
		return trouble
	}
	if unread {
		return apierror.New(a2a.ErrUnsupportedOperation, "the task ended before its agent read the message")
	}
	return nil
}

// answer returns the current task, or the bare message with which it ended.
func (e *Engine) answer(ctx context.Context, l *live, history *int) (*Answer, error) {
	l.mu.Lock()
	h, msg, refusal := l.head, l.answer, l.refusal
	l.mu.Unlock()
	switch {
	case refusal != nil:
		return nil, refusal
	case msg != nil:
		return &Answer{Answer: op.Answer{Head: h, Message: msg}}, nil
	}
	if h.Visibility == task.Hidden {
		if err := e.reveal(l); err != nil {
			return nil, err
		}
		h = l.snapshot()
	}
	f, err := e.foldAnswer(ctx, l, &h)
	if err != nil {
		return nil, err
	}
	return answerOf(&h, f.Fold, history).sized(f), nil
}

// fold returns the whole task at the version of h.
func (e *Engine) fold(ctx context.Context, l *live, h *task.Head) (*task.Fold, error) {
	f, err := l.foldTail(h)
	if f != nil || err != nil {
		return f, err
	}
	return e.foldLog(ctx, h)
}

// foldTail returns the whole task if its tail reaches back to the first entry; otherwise nil.
func (l *live) foldTail(h *task.Head) (*task.Fold, error) {
	l.mu.Lock()
	events, ok := l.tail.all()
	l.mu.Unlock()
	if !ok {
		return nil, nil //nolint:nilnil // the tail is not an error
	}
	f := new(task.Fold)
	for i := range events {
		if events[i].Version > h.Version {
			break
		}
		if err := f.Add(&events[i].Entry); err != nil {
			return nil, err
		}
	}
	return f, nil
}

// minSnapshot is the size in bytes, and leastSnapshot the number of entries, below which a log
// gets no snapshot. A task above maxSnapshot gets none either: a snapshot is read and written at once,
// before the memory for it is acquired, and a log is read in pages.
const (
	minSnapshot   = 16 << 10
	leastSnapshot = tailEntries / 8
	maxSnapshot   = 8 << 20
)

// foldLog folds the stored log, beginning with a snapshot if there is one. It saves a new
// snapshot if the log has grown by more than the size of the last one.
func (e *Engine) foldLog(ctx context.Context, h *task.Head) (*task.Fold, error) {
	f, err := e.foldUpTo(ctx, h, math.MaxInt)
	return f.Fold, err
}

// folded is a task of which size bytes were read.
type folded struct {
	*task.Fold

	size int
	// hold is the memory of a large task that was folded for an answer.
	hold *membudget.Hold
}

// foldUpTo is foldLog for a log of at most that many bytes; the error is errLargeLog for others.
func (e *Engine) foldUpTo(ctx context.Context, h *task.Head, most int) (folded, error) {
	f, base, err := e.fromSnapshot(ctx, h)
	if err != nil {
		return folded{}, err
	}
	read := 0
	for f.Version < h.Version {
		if base+read > most {
			return folded{}, errLargeLog
		}
		page, err := e.store.Read(ctx, h.Key, f.Version)
		if err != nil {
			return folded{}, notFound(err)
		}
		if len(page) == 0 {
			return folded{}, errors.New("fold " + string(h.ID) + ": the log ends before the version of the head")
		}
		for i := range page {
			if page[i].Version > h.Version {
				break
			}
			read += size(&page[i])
			if err := f.Add(&page[i]); err != nil {
				return folded{}, err
			}
		}
	}
	if base+read > most {
		return folded{}, errLargeLog
	}
	if h.Version >= leastSnapshot && read > max(minSnapshot, base) && f.Size() <= maxSnapshot {
		e.saveSnapshot(h.Key, f)
	}
	return folded{Fold: f, size: base + read}, nil
}

// fromSnapshot returns the newest usable snapshot and its size, or an empty fold.
func (e *Engine) fromSnapshot(ctx context.Context, h *task.Head) (*task.Fold, int, error) {
	if h.Version < leastSnapshot {
		return new(task.Fold), 0, nil
	}
	snap, err := e.store.Snapshot(ctx, h.Key)
	if err != nil && !errors.Is(err, task.ErrCorrupt) {
		return nil, 0, err
	}
	// The log has all that a damaged snapshot had, and the store has reported the damage.
	if err != nil || snap.Version == 0 || snap.Version > h.Version {
		return new(task.Fold), 0, nil
	}
	f, err := task.DecodeFold(snap.Data)
	return f, len(snap.Data), err
}

// saveSnapshot stores a snapshot of f in the background, one at a time.
func (e *Engine) saveSnapshot(key task.Key, f *task.Fold) {
	if !e.snapping.CompareAndSwap(false, true) {
		return
	}
	snap := task.Snapshot{Version: f.Version, Data: f.AppendBinary(nil)}
	started := e.work.run(func() {
		defer e.snapping.Store(false)
		if err := e.store.SaveSnapshot(e.ctx, key, snap); err != nil {
			e.cfg.Logger.Warn("save snapshot", "error", err)
		}
	})
	if !started {
		e.snapping.Store(false)
	}
}

// Get returns a task of the caller.
func (e *Engine) Get(ctx context.Context, c *op.Caller, r *op.Get) (*Answer, error) {
	l, err := e.find(ctx, c, &r.Target, lookup{r.ID, need{op: policy.Get}})
	if err != nil {
		return nil, err
	}
	defer e.live.release(l)
	h := l.snapshot()
	if e.wantsTree(c, h.Agent) {
		e.auditRead(c, AuditEvent{Action: audit.TaskGet, Task: h.ID, Agent: h.Agent})
		return e.treeAnswer(ctx, c, &h)
	}
	f, err := e.foldAnswer(ctx, l, &h)
	if err != nil {
		return nil, err
	}
	e.auditRead(c, AuditEvent{Action: audit.TaskGet, Task: h.ID, Agent: h.Agent})
	return answerOf(&h, f.Fold, r.HistoryLength).sized(f), nil
}
