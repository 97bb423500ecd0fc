package inbox

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"
)

// Inbox is a book with those who wait for what stands in it. The zero Inbox keeps its
// items in memory. Its fields must not change once it is in use.
type Inbox struct {
	// Book keeps the items. If nil, they end with the process.
	Book Book
	// Retention is how long a settled item is kept; 30 days if zero.
	Retention time.Duration
	// Deliver is given what settles an open question of a task, unless it is its time,
	// before that is stored: who has asked decides whether it comes first. It returns ErrOver if the
	// question needs no answer any more; any other error leaves the item open. It is
	// called for one item after the other. If nil, the item alone decides, and who has
	// asked waits for it.
	Deliver func(ctx context.Context, it *Item, s *Settlement) error
	// Logger receives a record when the book does not work. If nil, nothing is logged.
	Logger *slog.Logger

	// deciding is held over what settles a question, its delivery included.
	deciding sync.Mutex

	once    sync.Once
	memory  Memory
	changed chan struct{} // of capacity 1: the next end may be another one

	mu       sync.Mutex // guards the fields below
	waiters  map[ID]*waiter
	watchers map[*watcher]struct{}
	closed   bool // Run has ended
}

// waiter is who waits for an item.
type waiter struct {
	n     int           // how many
	again chan struct{} // closed when the item is to be read again
}

// ErrOver is returned by Inbox.Deliver for a question that needs no answer any more.
var ErrOver = errors.New("the question needs no answer any more")

// Over is an ErrOver that says what was delivered before, by a process that could not
// write it down any more.
type Over struct{ Answer string }

// Error implements error.
func (*Over) Error() string { return ErrOver.Error() }

// Is reports whether target is ErrOver.
func (*Over) Is(target error) bool { return target == ErrOver }

// ErrClosed is returned to those who wait or watch when the inbox stops.
var ErrClosed = errors.New("the inbox stops")

const (
	retentionDefault = 30 * 24 * time.Hour
	sweepEvery       = time.Hour
	sweepSlice       = 500
	retryDelay       = 5 * time.Second
)

func (b *Inbox) book() Book {
	b.once.Do(func() { b.changed = make(chan struct{}, 1) })
	if b.Book == nil {
		return &b.memory
	}
	return b.Book
}

// Put stores an item and returns it as it is then. State and Created are filled in, and
// texts that are too long are cut. If there is one with its id, that is returned, settled
// or not, and nothing changes.
func (b *Inbox) Put(ctx context.Context, it *Item) (Item, error) {
	c := *it
	c.State = Open
	if c.Created.IsZero() {
		c.Created = time.Now()
	}
	c.fit()
	put, fresh, err := b.book().PutItem(ctx, &c)
	if err != nil {
		return Item{}, fmt.Errorf("put into the inbox: %w", err)
	}
	if fresh {
		b.tell(&put)
		b.reschedule()
	}
	return put, nil
}

// Get returns an item, or ErrNotFound.
func (b *Inbox) Get(ctx context.Context, id ID) (Item, error) {
	if id == "" {
		return Item{}, ErrNotFound
	}
	found, err := b.book().Items(ctx, &Query{ID: id, Limit: 1})
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
	found, err := b.book().Items(ctx, q)
	if err != nil {
		return nil, fmt.Errorf("list the inbox: %w", err)
	}
	return found, nil
}

// Answer answers a question. by is who does it. If the question is settled, the error
// is a *Settled, which says who came first.
func (b *Inbox) Answer(ctx context.Context, id ID, by, text string) (Item, error) {
	if text == "" {
		return Item{}, fmt.Errorf("%w: an answer has a text", ErrInvalid)
	}
	return b.settle(ctx, id, Settlement{State: Answered, Answer: text, By: by})
}

// Approve approves what waits for that, or takes the draft for the answer to a question.
// text may be empty; for a question it must be.
func (b *Inbox) Approve(ctx context.Context, id ID, by, text string) (Item, error) {
	return b.settle(ctx, id, Settlement{State: Approved, Answer: text, By: by})
}

// Refuse refuses an approval, or to answer a question. text says why, or is empty.
func (b *Inbox) Refuse(ctx context.Context, id ID, by, text string) (Item, error) {
	return b.settle(ctx, id, Settlement{State: Refused, Answer: text, By: by})
}

// Withdraw makes an item expire that is not needed any more, for a reason. One that is
// settled, or not there, is left as it is.
func (b *Inbox) Withdraw(ctx context.Context, id ID, reason string) error {
	b.deciding.Lock()
	defer b.deciding.Unlock()
	_, err := b.change(ctx, id, &Settlement{State: Expired, Answer: reason})
	if errors.Is(err, ErrSettled) || errors.Is(err, ErrNotFound) {
		return nil
	}
	return err
}

// settle does what a person wants with an item, if it can be done with one of its kind.
func (b *Inbox) settle(ctx context.Context, id ID, s Settlement) (Item, error) {
	if len(s.Answer) > MaxAnswer {
		return Item{}, fmt.Errorf("%w: a text of %d bytes is longer than %d", ErrInvalid, len(s.Answer), MaxAnswer)
	}
	it, err := b.Get(ctx, id)
	if err != nil {
		return Item{}, err
	}
	switch {
	case it.Kind == Notice:
		return it, fmt.Errorf("%w: a notice wants no answer", ErrInvalid)
	case it.Kind == Approval && s.State == Answered:
		return it, fmt.Errorf("%w: an approval is approved or refused, not answered", ErrInvalid)
	case it.Kind == Question && s.State == Approved && (it.Draft == "" || s.Answer != ""):
		return it, fmt.Errorf("%w: to approve a question is to take its draft; this one has none, or a text came with it: answer it", ErrInvalid)
	case it.Kind == Question && s.State == Approved:
		s.State, s.Answer = Answered, it.Draft
	}
	if it.Kind == Question && it.Task != "" && b.Deliver != nil {
		return b.hand(ctx, id, &s)
	}
	return b.conclude(ctx, id, &s)
}

// hand settles a question after who has asked was told.
func (b *Inbox) hand(ctx context.Context, id ID, s *Settlement) (Item, error) {
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
			// It is said again, because nobody knew that it counts.
		case errors.Is(err, ErrOver):
			return b.over(ctx, id, delivered(err))
		case err != nil:
			return it, fmt.Errorf("deliver what settles item %s: %w", id, err)
		}
	}
	return b.conclude(ctx, id, s)
}

// delivered returns the answer that an error of Deliver speaks of.
func delivered(err error) string {
	var o *Over
	if errors.As(err, &o) {
		return o.Answer
	}
	return ""
}

// over settles an item that was found to need no answer, and says so.
func (b *Inbox) over(ctx context.Context, id ID, answer string) (Item, error) {
	s := Settlement{State: Expired, Answer: "it was answered elsewhere, or its task has ended"}
	if answer != "" {
		s = Settlement{State: Answered, Answer: answer}
	}
	got, err := b.change(ctx, id, &s)
	if err == nil {
		err = &Settled{Item: got}
	}
	return got, err
}

// Mend settles an open item of which an earlier process could not write down what has
// become: answered, by somebody who is not known any more, or without an answer expired.
func (b *Inbox) Mend(ctx context.Context, id ID, answer string) error {
	b.deciding.Lock()
	defer b.deciding.Unlock()
	_, err := b.over(ctx, id, answer)
	if errors.Is(err, ErrSettled) || errors.Is(err, ErrNotFound) {
		return nil
	}
	return err
}

// conclude settles an item, or makes it expire if that comes too late.
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

// change settles an item in the book and tells of it. Whoever waits looks again even if
// it is unknown whether the change was stored.
func (b *Inbox) change(ctx context.Context, id ID, s *Settlement) (Item, error) {
	if s.At.IsZero() {
		s.At = time.Now()
	}
	got, err := b.book().SettleItem(ctx, id, s)
	b.wake(id)
	if err != nil {
		return got, fmt.Errorf("settle item %s: %w", id, err)
	}
	b.tell(&got)
	return got, nil
}

// Wait returns an item once it is settled. It returns ErrNotFound if there is none, and
// ErrClosed when the inbox stops.
func (b *Inbox) Wait(ctx context.Context, id ID) (Item, error) {
	for {
		again, leave := b.join(id)
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

// join makes the caller one of those who wait for an item.
func (b *Inbox) join(id ID) (again <-chan struct{}, leave func()) {
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

// wake makes those read an item again who wait for it.
func (b *Inbox) wake(id ID) {
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

// reschedule tells Run that the next end may be another one.
func (b *Inbox) reschedule() {
	select {
	case b.changed <- struct{}{}:
	default:
	}
}

// Run makes items expire, and forgets old ones, until ctx ends. Then those who wait or
// watch get ErrClosed. It is called once.
func (b *Inbox) Run(ctx context.Context) error {
	defer b.close()
	b.book()
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

// close ends the waiting and watching.
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

// expire settles the items whose time is over, and returns how long it is to the next.
func (b *Inbox) expire(ctx context.Context) time.Duration {
	b.deciding.Lock()
	defer b.deciding.Unlock()
	due, err := b.book().Items(ctx, &Query{Due: time.Now()})
	for i := range due {
		if _, e := b.change(ctx, due[i].ID, &Settlement{State: Expired}); e != nil && !errors.Is(e, ErrSettled) && !errors.Is(e, ErrNotFound) {
			err = errors.Join(err, e)
		}
	}
	next, e := b.book().Items(ctx, &Query{Soonest: true, Limit: 1})
	if err = errors.Join(err, e); err != nil {
		b.log(ctx, "items of the inbox do not expire", err)
		return retryDelay
	}
	if len(next) == 0 {
		return sweepEvery
	}
	return max(0, min(sweepEvery, time.Until(next[0].Expires)))
}

// sweep forgets items that were settled long ago.
func (b *Inbox) sweep(ctx context.Context) {
	s, ok := b.book().(Sweeper)
	if !ok {
		return
	}
	keep := b.Retention
	if keep <= 0 {
		keep = retentionDefault
	}
	for {
		n, err := s.SweepItems(ctx, time.Now().Add(-keep), sweepSlice)
		if err != nil {
			b.log(ctx, "old items of the inbox are kept", err)
		}
		if err != nil || n < sweepSlice {
			return
		}
	}
}

func (b *Inbox) log(ctx context.Context, what string, err error) {
	if b.Logger != nil && ctx.Err() == nil {
		b.Logger.Error(what, "error", err)
	}
}
