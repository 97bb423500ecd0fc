package inbox

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/parley-a2a/parley/internal/wake"
)

// Inbox manages the items of a Store and the callers that wait for them. The zero Inbox keeps
// its items in memory. Its fields must not change after the first call.
type Inbox struct {
	// Store stores the items. If nil, they are kept in memory.
	Store Store
	// Retention is the time for which a settled item is kept; zero means 30 days.
	Retention time.Duration
	// Deliver, if set, is called before the settlement of a task's open question is stored,
	// unless the question expires. The asking task decides which answer comes first. Deliver
	// returns ErrObsolete if the question needs no answer any more; any other error leaves the
	// item open. Calls are serialised. If nil, the item alone decides, and the asking code
	// waits for it.
	Deliver func(ctx context.Context, it *Item, s *Settlement) error
	// Logger receives errors of the store. If nil, nothing is logged.
	Logger *slog.Logger

	// deciding is held while a question is settled, including its delivery.
	deciding sync.Mutex

	once    sync.Once
	memory  Memory
	changed wake.Signal // the earliest end may have changed

	mu       sync.Mutex // guards the fields below
	waiters  map[ID]*waiter
	watchers map[*watcher]struct{}
	closed   bool // Run has ended
}

// waiter holds the callers of Wait for one item.
type waiter struct {
	n     int           // number of callers
	again chan struct{} // closed when the item is to be read again
}

// ErrObsolete is returned by Inbox.Deliver for a question that needs no answer any more.
var ErrObsolete = errors.New("the question no longer needs an answer")

// AlreadyDelivered is an ErrObsolete with the answer that an earlier process delivered but did
// not store.
type AlreadyDelivered struct{ Answer string }

// Error implements error.
func (*AlreadyDelivered) Error() string { return ErrObsolete.Error() }

// Is reports whether target is ErrObsolete.
func (*AlreadyDelivered) Is(target error) bool { return target == ErrObsolete }

// ErrClosed is returned to callers of Wait and Watch when the inbox stops.
var ErrClosed = errors.New("the inbox stops")

const (
	retentionDefault = 30 * 24 * time.Hour
	sweepEvery       = time.Hour
	sweepSlice       = 500
	retryDelay       = 5 * time.Second
)

func (b *Inbox) store() Store {
	b.once.Do(func() { b.changed = wake.New() })
	if b.Store == nil {
		return &b.memory
	}
	return b.Store
}

// Put stores an item and returns its stored form. Put sets State and Created, and cuts texts
// that are too long. If an item with the id exists, Put changes nothing and returns that item,
// settled or not.
func (b *Inbox) Put(ctx context.Context, it *Item) (Item, error) {
	c := *it
	c.State = Open
	if c.Created.IsZero() {
		c.Created = time.Now()
	}
	c.Text, c.Draft = clip(c.Text, MaxText), clip(c.Draft, MaxDraft)
	c.Caller, c.CallerName, c.Skill = clip(c.Caller, maxName), clip(c.CallerName, maxName), clip(c.Skill, maxName)
	c.Created, c.Expires = millis(c.Created), millis(c.Expires)
	put, fresh, err := b.store().PutItem(ctx, &c)
	if err != nil {
		return Item{}, fmt.Errorf("put into the inbox: %w", err)
	}
	if fresh {
		b.notify(&put)
		b.changed.Send()
	}
	return put, nil
}

// Get returns an item, or ErrNotFound.
func (b *Inbox) Get(ctx context.Context, id ID) (Item, error) {
	if id == "" {
		return Item{}, ErrNotFound
	}
	found, err := b.store().Items(ctx, &Query{ID: id, Limit: 1})
	switch {
	case err != nil:
		return Item{}, fmt.Errorf("get item %s: %w", id, err)
	case len(found) == 0:
		return Item{}, ErrNotFound
	}
	return found[0], nil
}

// List returns items.
func (b *Inbox) List(ctx context.Context, q *Query) ([]Item, error) {
	found, err := b.store().Items(ctx, q)
	if err != nil {
		return nil, fmt.Errorf("list the inbox: %w", err)
	}
	return found, nil
}

// Answer answers a question in the name of by. If the question is already settled, the error is
// a *Settled with the settlement.
func (b *Inbox) Answer(ctx context.Context, id ID, by, text string) (Item, error) {
	if text == "" {
		return Item{}, fmt.Errorf("%w: an answer needs a text", ErrInvalid)
	}
	return b.settle(ctx, id, Settlement{State: Answered, Answer: text, By: by})
}

// Approve approves an Approval, or accepts the draft as the answer to a Question. text is an
// optional remark; for a Question it must be empty.
func (b *Inbox) Approve(ctx context.Context, id ID, by, text string) (Item, error) {
	return b.settle(ctx, id, Settlement{State: Approved, Answer: text, By: by})
}

// Refuse refuses an Approval, or refuses to answer a Question. text is the reason and may be
// empty.
func (b *Inbox) Refuse(ctx context.Context, id ID, by, text string) (Item, error) {
	return b.settle(ctx, id, Settlement{State: Refused, Answer: text, By: by})
}

// Withdraw expires an item that is not needed any more, with a reason. An item that is settled
// or missing is unchanged.
func (b *Inbox) Withdraw(ctx context.Context, id ID, reason string) error {
	b.deciding.Lock()
	defer b.deciding.Unlock()
	_, err := b.change(ctx, id, &Settlement{State: Expired, Answer: reason})
	if errors.Is(err, ErrSettled) || errors.Is(err, ErrNotFound) {
		return nil
	}
	return err
}

// settle applies a person's settlement, if it fits the kind of the item.
func (b *Inbox) settle(ctx context.Context, id ID, s Settlement) (Item, error) {
	if len(s.Answer) > MaxAnswer {
		return Item{}, fmt.Errorf("%w: a text of %d bytes exceeds the limit of %d", ErrInvalid, len(s.Answer), MaxAnswer)
	}
	it, err := b.Get(ctx, id)
	if err != nil {
		return Item{}, err
	}
	switch {
	case it.Kind == Notice:
		return it, fmt.Errorf("%w: a notice cannot be answered", ErrInvalid)
	case it.Kind == Approval && s.State == Answered:
		return it, fmt.Errorf("%w: an approval is approved or refused, not answered", ErrInvalid)
	case it.Kind == Question && s.State == Approved && (it.Draft == "" || s.Answer != ""):
		return it, fmt.Errorf("%w: approving a question sends its draft; this one has no draft, or a text was given: answer it instead", ErrInvalid)
	case it.Kind == Question && s.State == Approved:
		s.State, s.Answer = Answered, it.Draft
	}
	if it.Kind == Question && it.Task != "" && b.Deliver != nil {
		return b.deliver(ctx, id, &s)
	}
	return b.conclude(ctx, id, &s)
}

// deliver settles a question after the settlement was delivered to the asking task.
func (b *Inbox) deliver(ctx context.Context, id ID, s *Settlement) (Item, error) {
	b.deciding.Lock()
	defer b.deciding.Unlock()
	it, err := b.Get(ctx, id)
	if err != nil {
		return it, err
	}
	s.At = time.Now()
	if _, err := it.Settles(s); err == nil {
		switch err := b.Deliver(ctx, &it, s); {
		case delivered(err) != "" && s.State == Answered && delivered(err) == s.Answer:
			// The same answer was delivered before, without confirmation; it counts.
		case errors.Is(err, ErrObsolete):
			return b.settleObsolete(ctx, id, delivered(err))
		case err != nil:
			return it, fmt.Errorf("deliver what settles item %s: %w", id, err)
		}
	}
	return b.conclude(ctx, id, s)
}

// delivered returns the earlier answer in an error of Deliver; empty if there is none.
func delivered(err error) string {
	var o *AlreadyDelivered
	if errors.As(err, &o) {
		return o.Answer
	}
	return ""
}

// settleObsolete settles an item that needs no answer any more, and returns a *Settled.
func (b *Inbox) settleObsolete(ctx context.Context, id ID, answer string) (Item, error) {
	s := Settlement{State: Expired, Answer: "it was already answered, or its task has ended"}
	if answer != "" {
		s = Settlement{State: Answered, Answer: answer}
	}
	got, err := b.change(ctx, id, &s)
	if err == nil {
		err = &Settled{Item: got}
	}
	return got, err
}

// Reconcile settles an open item whose outcome an earlier process delivered but did not store: as
// answered (by an unknown user) if answer is set, as expired otherwise.
func (b *Inbox) Reconcile(ctx context.Context, id ID, answer string) error {
	b.deciding.Lock()
	defer b.deciding.Unlock()
	_, err := b.settleObsolete(ctx, id, answer)
	if errors.Is(err, ErrSettled) || errors.Is(err, ErrNotFound) {
		return nil
	}
	return err
}

// conclude settles an item, or expires it if the settlement is too late.
func (b *Inbox) conclude(ctx context.Context, id ID, s *Settlement) (Item, error) {
	got, err := b.change(ctx, id, s)
	if errors.Is(err, ErrLate) {
		got, err = b.change(ctx, id, &Settlement{State: Expired})
		if err == nil {
			err = &Settled{Item: got}
		}
	}
	return got, err
}

// change settles an item in the store and notifies waiters and watchers. Waiters read the item
// again even on an error, because the change may have been stored.
func (b *Inbox) change(ctx context.Context, id ID, s *Settlement) (Item, error) {
	if s.At.IsZero() {
		s.At = time.Now()
	}
	got, err := b.store().SettleItem(ctx, id, s)
	b.wakeWaiters(id)
	if err != nil {
		return got, fmt.Errorf("settle item %s: %w", id, err)
	}
	b.notify(&got)
	return got, nil
}

// Wait blocks until an item is settled and returns it. It returns ErrNotFound if the item does
// not exist, and ErrClosed when the inbox stops.
func (b *Inbox) Wait(ctx context.Context, id ID) (Item, error) {
	for {
		again, leave := b.addWaiter(id)
		it, err := b.Get(ctx, id)
		if err != nil || it.State != Open {
			leave()
			return it, err
		}
		select {
		case <-again:
			leave()
		case <-ctx.Done():
			leave()
			return it, context.Cause(ctx)
		}
		if b.stopped() {
			return it, ErrClosed
		}
	}
}

// addWaiter registers the caller as a waiter for an item.
func (b *Inbox) addWaiter(id ID) (again <-chan struct{}, leave func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	w := b.waiters[id]
	if w == nil {
		w = &waiter{again: make(chan struct{})}
		if b.waiters == nil {
			b.waiters = make(map[ID]*waiter)
		}
		b.waiters[id] = w
	}
	if b.closed {
		close(w.again)
		delete(b.waiters, id)
	}
	w.n++
	return w.again, func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		if w.n--; w.n == 0 && b.waiters[id] == w {
			delete(b.waiters, id)
		}
	}
}

// Reread makes all waiters, and the Run that expires items, read the store again, because another
// process may have changed it.
func (b *Inbox) Reread() {
	b.store()
	b.mu.Lock()
	for id, w := range b.waiters {
		close(w.again)
		delete(b.waiters, id)
	}
	b.mu.Unlock()
	b.changed.Send()
}

// wakeWaiters makes the waiters for an item read it again.
func (b *Inbox) wakeWaiters(id ID) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if w := b.waiters[id]; w != nil {
		close(w.again)
		delete(b.waiters, id)
	}
}

func (b *Inbox) stopped() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.closed
}

// Run expires items and deletes old ones, until ctx ends. Then callers of Wait and Watch get
// ErrClosed. Run must be called at most once.
func (b *Inbox) Run(ctx context.Context) error {
	defer b.close()
	b.store()
	sweep := time.NewTicker(sweepEvery)
	defer sweep.Stop()
	for {
		next := time.NewTimer(b.expire(ctx))
		select {
		case <-ctx.Done():
			next.Stop()
			return nil
		case <-b.changed:
		case <-next.C:
		case <-sweep.C:
			b.sweep(ctx)
		}
		next.Stop()
	}
}

// close ends all waits and watches.
func (b *Inbox) close() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closed = true
	for id, w := range b.waiters {
		close(w.again)
		delete(b.waiters, id)
	}
	for w := range b.watchers {
		w.end(ErrClosed)
	}
}

// expire settles the items whose time has passed, and returns the time until the next one
// expires.
func (b *Inbox) expire(ctx context.Context) time.Duration {
	b.deciding.Lock()
	defer b.deciding.Unlock()
	due, err := b.store().Items(ctx, &Query{Due: time.Now()})
	for i := range due {
		if _, e := b.change(ctx, due[i].ID, &Settlement{State: Expired}); e != nil && !errors.Is(e, ErrSettled) && !errors.Is(e, ErrNotFound) {
			err = errors.Join(err, e)
		}
	}
	next, e := b.store().Items(ctx, &Query{Soonest: true, Limit: 1})
	if err = errors.Join(err, e); err != nil {
		if b.Logger != nil && ctx.Err() == nil {
			b.Logger.Warn("items of the inbox cannot expire; retrying", "error", err)
		}
		return retryDelay
	}
	if len(next) == 0 {
		return sweepEvery
	}
	return max(0, min(sweepEvery, time.Until(next[0].Expires)))
}

// sweep deletes items that were settled before the retention time.
func (b *Inbox) sweep(ctx context.Context) {
	s, ok := b.store().(Sweeper)
	if !ok {
		return
	}
	keep := cmp.Or(max(0, b.Retention), retentionDefault)
	for {
		n, err := s.SweepItems(ctx, time.Now().Add(-keep), sweepSlice)
		if err != nil {
			if b.Logger != nil && ctx.Err() == nil {
				b.Logger.Error("old items of the inbox are kept", "error", err)
			}
		}
		if err != nil || n < sweepSlice {
			return
		}
	}
}
