package engine

import (
	"context"
	"errors"
	"math"

	"github.com/parley-a2a/parley/internal/membudget"
	"github.com/parley-a2a/parley/internal/task"
)

// The memory of large messages and answers, as multiples of their size.
const (
	// runFactor is that of a run: the message as text and decoded, the executor's answer, and
	// its stored form. A value of a decoded data part needs valueCost bytes more than its text.
	runFactor = 6
	valueCost = 48
	// answerFactor is that of an answer: the fold, and its JSON.
	answerFactor = 2
	// logFactor is that of entries of a log: as stored, as frames, and as JSON, which a surface
	// for people or tools decodes and encodes once more.
	logFactor = 6
)

const (
	// largeLog is the size in bytes above which the answer with a task needs memory from the
	// budget before it is read. That of one above membudget.Small needs it once its size is known.
	largeLog = 1 << 20
	// foldNeed is the memory that is acquired before the size of a large answer is known.
	foldNeed = 48 << 20
	// hugeLog is the size in bytes above which a log is read again by itself, if the budget has room
	// for two. The memory of the first reading is lost, so it is above that of a task with the largest
	// message by default and its echo.
	hugeLog = 32 << 20
)

// acquire acquires the memory that the run of a large message needs, and waits for it. It
// reports false if the run has ended before.
func (r *run) acquire() (*membudget.Hold, bool) {
	if len(r.msg.body) <= membudget.Small {
		return nil, true
	}
	hold, err := r.engine.memory.AcquireLong(r.ctx, membudget.Work, membudget.Decoded(r.msg.body, runFactor, valueCost))
	return hold, err == nil
}

// largeChange is the size in bytes above which changes are stored one at a time.
const largeChange = 1 << 20

// append stores a change. Large changes are stored one at a time, so that a small one waits for
// one of them at most.
func (e *Engine) append(c *task.Change) error {
	n := 0
	for i := range c.Entries {
		n += len(c.Entries[i].Body)
	}
	if n > largeChange {
		e.storing.Lock()
		defer e.storing.Unlock()
	}
	return e.store.Append(e.ctx, c)
}

// errLargeLog is returned for a log above the limit of foldUpTo.
var errLargeLog = errors.New("the log is large")

// foldAnswer is fold for an answer. A large task needs memory from the budget, which is released
// when the answer is, or when ctx ends. Few logs are read at one time before their size is
// known.
func (e *Engine) foldAnswer(ctx context.Context, l *live, h *task.Head) (folded, error) {
	f, err := l.foldTail(h)
	if f != nil || err != nil {
		return folded{Fold: f}, err
	}
	small, err := e.foldSmall(ctx, h)
	if err == nil && small.size > membudget.Small {
		return e.foldWithin(ctx, h, small)
	}
	if !errors.Is(err, errLargeLog) {
		return small, err
	}
	most := hugeLog
	if e.memory.Stats().Max < 2*foldNeed {
		most = math.MaxInt // there is no memory for two at a time
	}
	large, err := e.foldLarge(ctx, h, most)
	if errors.Is(err, errLargeLog) {
		// One log is folded at a time: the next one waits for the memory that the first one is known to
		// need.
		select {
		case e.foldingHuge <- struct{}{}:
		case <-ctx.Done():
			return folded{}, context.Cause(ctx)
		}
		defer func() { <-e.foldingHuge }()
		return e.foldLarge(ctx, h, math.MaxInt)
	}
	return large, err
}

// foldWithin acquires the memory for an answer of a known size. If there is none at once, it folds the log
// again, so that those that wait hold nothing.
func (e *Engine) foldWithin(ctx context.Context, h *task.Head, f folded) (folded, error) {
	n := e.answerFactor(ctx) * int64(f.size)
	if membudget.AccountOf(ctx) == nil {
		if hold, ok := e.memory.TryAcquire(n); ok {
			return f.with(ctx, hold), nil
		}
	}
	f = folded{}
	hold, err := e.acquireAnswer(ctx, n)
	if err != nil {
		return f, err
	}
	if f, err = e.foldSmall(ctx, h); err != nil {
		hold.Release()
		return f, err
	}
	return f.with(ctx, hold), nil
}

// foldLarge folds a log of at most most bytes with memory from the budget.
func (e *Engine) foldLarge(ctx context.Context, h *task.Head, most int) (folded, error) {
	account := membudget.AccountOf(ctx)
	before := account.Held() // that of an earlier answer
	hold, err := e.acquireAnswer(ctx, foldNeed)
	if err != nil {
		return folded{}, err
	}
	large, err := e.foldUpTo(ctx, h, most)
	if err != nil {
		account.Resize(before)
		hold.Release()
		return folded{}, err
	}
	n := e.answerFactor(ctx) * int64(large.size)
	account.Resize(max(before, n))
	hold.Resize(n)
	return large.with(ctx, hold), nil
}

// answerFactor is the memory for an answer as a multiple of its size.
func (e *Engine) answerFactor(ctx context.Context) int64 {
	if a := membudget.AccountOf(ctx); a != nil {
		return answerFactor + a.Factor
	}
	return answerFactor
}

// acquireAnswer acquires the memory for an answer. That of an operation with an account is the account's, and
// then there is no Hold.
func (e *Engine) acquireAnswer(ctx context.Context, n int64) (*membudget.Hold, error) {
	if a := membudget.AccountOf(ctx); a != nil {
		return nil, a.Acquire(ctx, n)
	}
	return e.awaitMemory(ctx, n)
}

// with returns f with its memory, which is released at the latest when ctx ends.
func (f folded) with(ctx context.Context, hold *membudget.Hold) folded {
	if f.hold = hold; hold != nil {
		context.AfterFunc(ctx, hold.Release)
	}
	return f
}

// maxReading limits the pages of logs that are read at one time while their sizes are not known.
const maxReading = 16

// largePage is the size in bytes above which entries that were read for a stream need memory from
// the budget. A page of a log has 1 MiB, or a single entry above that.
const largePage = 2 << 20

// acquirer acquires memory for an answer: Budget.AcquireAnswer refuses after a while, and
// Engine.awaitMemory waits until ctx ends.
type acquirer = func(ctx context.Context, n int64) (*membudget.Hold, error)

func (e *Engine) awaitMemory(ctx context.Context, n int64) (*membudget.Hold, error) {
	return e.memory.AcquireLong(ctx, membudget.Answer, n)
}

// readPage reads the entries of a task after a version, a few pages at a time. For a large page it
// acquires memory, and reads again once there is some. The caller releases it.
func (e *Engine) readPage(ctx context.Context, key task.Key, after int64, acquire acquirer) ([]task.Entry, *membudget.Hold, error) {
	select {
	case e.reading <- struct{}{}:
	case <-ctx.Done():
		return nil, nil, context.Cause(ctx)
	}
	page, err := e.store.Read(ctx, key, after)
	<-e.reading
	size := 0
	for i := range page {
		size += page[i].Size()
	}
	a, most := membudget.AccountOf(ctx), largePage
	if a != nil {
		most = membudget.Small
	}
	if err != nil || size <= most {
		return page, nil, err
	}
	page = nil
	var hold *membudget.Hold
	if a != nil {
		err = a.Acquire(ctx, logFactor*int64(size))
	} else {
		hold, err = acquire(ctx, logFactor*int64(size))
	}
	if err != nil {
		return nil, nil, err
	}
	if page, err = e.store.Read(ctx, key, after); err != nil {
		hold.Release()
		return nil, nil, err
	}
	return page, hold, nil
}

// foldSmall folds a log of at most largeLog bytes.
func (e *Engine) foldSmall(ctx context.Context, h *task.Head) (folded, error) {
	select {
	case e.folding <- struct{}{}:
	case <-ctx.Done():
		return folded{}, context.Cause(ctx)
	}
	defer func() { <-e.folding }()
	return e.foldUpTo(ctx, h, largeLog)
}

// sent releases the memory of the answer or the events that were returned last.
func (s *Stream) sent() {
	s.hold.Release()
	s.hold = nil
}
