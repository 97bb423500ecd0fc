package membudget

import (
	"cmp"
	"container/list"
	"context"
	"sync"
	"time"

	"github.com/parley-a2a/parley/internal/apierror"
)

// Small is the size in bytes up to which a message needs nothing from a budget.
const Small = 64 << 10

// MessageFactor is the memory for a larger message until it is stored, as a multiple of its size:
// the body, the message in its canonical form, and the stored form.
const MessageFactor = 4

// The defaults of a Budget.
const (
	defaultWait  = 10 * time.Second
	defaultStall = time.Minute
)

// retryAfter is the time after which a refused caller may try again.
const retryAfter = 5 * time.Second

// Budget is a number of bytes that operations share. The zero Budget has the defaults that its
// fields name. Fields must not be changed after the first use.
type Budget struct {
	// Max is the number of bytes. Zero means Default().
	Max int64
	// Wait is the longest time that Acquire waits. Zero means 10 s.
	Wait time.Duration
	// Stall is the time without a release after which a waiting operation of AcquireLong
	// continues beyond Max. Zero means 1 min.
	Stall time.Duration

	mu   sync.Mutex // guards the fields below
	most int64      // Max or its default; zero before the first use
	used int64
	// released is the time of the last release, or of the last grant beyond the budget.
	released time.Time
	waiting  list.List // of *waiter
	refused  int64
}

// Class is the kind of an operation. Waiting operations of an earlier class are served first,
// because they end work and release memory.
type Class int

const (
	// Answer sends the result of accepted work.
	Answer Class = iota
	// Work performs accepted work.
	Work
	// Request accepts further work.
	Request

	// more continues an operation that has a Hold.
	more = Answer - 1
)

// waiter is an operation that waits for n bytes.
type waiter struct {
	class   Class
	n       int64
	granted chan struct{}
}

// Stats are the numbers of a Budget.
type Stats struct {
	// Max and Used are bytes.
	Max, Used int64
	// Waiting is the number of operations that wait.
	Waiting int
	// Refused counts the operations that were refused since the start.
	Refused int64
}

// Stats returns the current numbers.
func (b *Budget) Stats() Stats {
	if b == nil {
		return Stats{}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return Stats{Max: b.maxLocked(), Used: b.used, Waiting: b.waiting.Len(), Refused: b.refused}
}

func (b *Budget) maxLocked() int64 {
	if b.most == 0 {
		b.most = cmp.Or(b.Max, Default())
	}
	return b.most
}

// TryAcquire acquires n bytes if they are free now and no operation waits, and if a quarter of
// the budget remains free. It reports whether it has.
func (b *Budget) TryAcquire(n int64) (*Hold, bool) {
	if b == nil {
		return nil, true
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if most := b.maxLocked(); b.waiting.Len() > 0 || b.used+n > most-most/4 {
		return nil, false
	}
	b.used += n
	return &Hold{budget: b, n: n}, true
}

// Acquire acquires n bytes for a request. It waits for them for Wait at most. The error wraps
// apierror.ErrExhausted, or is the cause of the end of ctx. A request that another one in this
// process makes for its own Body needs nothing, and gets nil.
func (b *Budget) Acquire(ctx context.Context, n int64) (*Hold, error) {
	if held(ctx) {
		return nil, nil //nolint:nilnil // a nil Hold holds nothing
	}
	return b.acquire(ctx, Request, n)
}

// AcquireAnswer is Acquire for the answer to a request, which is served before further requests.
func (b *Budget) AcquireAnswer(ctx context.Context, n int64) (*Hold, error) {
	return b.acquire(ctx, Answer, n)
}

// AcquireMore is Acquire for an operation that has a Hold already. It is served before all that
// wait: one of them may need the bytes that the operation holds.
func (b *Budget) AcquireMore(ctx context.Context, n int64) (*Hold, error) {
	return b.acquire(ctx, more, n)
}

func (b *Budget) acquire(ctx context.Context, class Class, n int64) (*Hold, error) {
	if b == nil {
		return nil, nil //nolint:nilnil // a nil Hold holds nothing
	}
	w, h := b.enter(class, n)
	if w == nil {
		return h, nil
	}
	late := time.NewTimer(cmp.Or(b.Wait, defaultWait))
	defer late.Stop()
	select {
	case <-w.Value.(*waiter).granted:
		return h, nil
	case <-ctx.Done():
	case <-late.C:
	}
	if b.leave(w) {
		return h, nil // granted in the meantime
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	b.mu.Lock()
	b.refused++
	b.mu.Unlock()
	return nil, &apierror.Error{
		Err:        apierror.ErrExhausted,
		Message:    "the hub has no memory for another large request now; send it again later",
		RetryAfter: retryAfter,
	}
}

// AcquireLong acquires n bytes, and waits for them until ctx ends.
func (b *Budget) AcquireLong(ctx context.Context, class Class, n int64) (*Hold, error) {
	if b == nil {
		return nil, nil //nolint:nilnil // a nil Hold holds nothing
	}
	w, h := b.enter(class, n)
	if w == nil {
		return h, nil
	}
	stall := cmp.Or(b.Stall, defaultStall)
	check := time.NewTimer(stall)
	defer check.Stop()
	for {
		select {
		case <-w.Value.(*waiter).granted:
			return h, nil
		case <-ctx.Done():
			if b.leave(w) {
				return h, nil
			}
			return nil, context.Cause(ctx)
		case <-check.C:
			check.Reset(b.relieve(stall))
		}
	}
}

// Count acquires n bytes that are occupied already, without waiting, also beyond the budget.
func (b *Budget) Count(n int64) *Hold {
	if b == nil {
		return nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.used += n
	return &Hold{budget: b, n: n}
}

// Take acquires n bytes for a message of a peer, which cannot be refused: it waits for them for Wait at most,
// and then occupies them beyond the budget.
func (b *Budget) Take(ctx context.Context, n int64) *Hold {
	h, err := b.acquire(ctx, Work, n)
	if err != nil {
		return b.Count(n)
	}
	return h
}

// enter acquires n bytes, or returns a waiting operation.
func (b *Budget) enter(class Class, n int64) (*list.Element, *Hold) {
	b.mu.Lock()
	defer b.mu.Unlock()
	most := b.maxLocked()
	n = min(n, most)
	h := &Hold{budget: b, n: n}
	if b.used+n <= most && b.nextLocked(class) {
		b.used += n
		return nil, h
	}
	if b.waiting.Len() == 0 {
		b.released = time.Now()
	}
	return b.queueLocked(&waiter{class: class, n: n, granted: make(chan struct{})}), h
}

// nextLocked reports whether no operation waits that is served before a new one of the class.
func (b *Budget) nextLocked(class Class) bool {
	first := b.waiting.Front()
	return first == nil || first.Value.(*waiter).class > class
}

// queueLocked adds a waiting operation behind those of its class.
func (b *Budget) queueLocked(w *waiter) *list.Element {
	for e := b.waiting.Back(); e != nil; e = e.Prev() {
		if e.Value.(*waiter).class <= w.class {
			return b.waiting.InsertAfter(w, e)
		}
	}
	return b.waiting.PushFront(w)
}

// leave removes a waiting operation. It reports whether that was granted its bytes before.
func (b *Budget) leave(w *list.Element) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	select {
	case <-w.Value.(*waiter).granted:
		return true
	default:
	}
	b.waiting.Remove(w)
	b.grantLocked() // it may have been the first, with smaller ones behind it
	return false
}

// relieve lets the first waiting operation continue beyond the budget if nothing was released
// for stall. It returns the time after which to check again.
func (b *Budget) relieve(stall time.Duration) time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	if rest := stall - time.Since(b.released); rest > 0 {
		return rest
	}
	b.released = time.Now()
	if first := b.waiting.Front(); first != nil {
		b.passLocked(first)
	}
	return stall
}

// grantLocked grants the first waiting operations their bytes.
func (b *Budget) grantLocked() {
	for first := b.waiting.Front(); first != nil; first = b.waiting.Front() {
		if b.used+first.Value.(*waiter).n > b.maxLocked() {
			return
		}
		b.passLocked(first)
	}
}

func (b *Budget) passLocked(e *list.Element) {
	w := b.waiting.Remove(e).(*waiter)
	b.used += w.n
	close(w.granted)
}

// Hold is a number of bytes acquired from a Budget. A nil Hold holds nothing.
type Hold struct {
	budget *Budget
	n      int64 // guarded by budget.mu
}

// Release returns the bytes to the budget. It may be called again.
func (h *Hold) Release() { h.Resize(0) }

// size returns the number of bytes.
func (h *Hold) size() int64 {
	if h == nil {
		return 0
	}
	h.budget.mu.Lock()
	defer h.budget.mu.Unlock()
	return h.n
}

// joined returns a Hold with the bytes of both, which must not be used any more.
func (h *Hold) joined(more *Hold) *Hold {
	if h == nil || more == nil {
		return cmp.Or(h, more)
	}
	h.budget.mu.Lock()
	defer h.budget.mu.Unlock()
	return &Hold{budget: h.budget, n: h.n + more.n}
}

// Resize changes the number of bytes without waiting, also beyond the budget.
func (h *Hold) Resize(n int64) {
	if h == nil {
		return
	}
	b := h.budget
	b.mu.Lock()
	defer b.mu.Unlock()
	if n < h.n {
		b.released = time.Now()
	}
	b.used += n - h.n
	h.n = n
	b.grantLocked()
}
