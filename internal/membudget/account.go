package membudget

import (
	"context"
	"io"
	"net/http"
	"sync"
)

// Account is the memory of an operation that reads answers of the hub and converts them. It holds the need of
// the largest answer, and is released when the result of the operation has been sent. A nil Account counts
// nothing.
type Account struct {
	// Budget is that of the answers, instead of that of the hub.
	Budget *Budget
	// Factor is the memory for an answer and its conversion, as a multiple of its size.
	Factor int64

	mu   sync.Mutex // guards the fields below
	hold *Hold
}

type accountKey struct{}

// Context returns a context for the operation.
func (a *Account) Context(ctx context.Context) context.Context {
	if a == nil {
		return ctx
	}
	return context.WithValue(ctx, accountKey{}, a)
}

// AccountOf returns the Account of an operation; nil without one.
func AccountOf(ctx context.Context) *Account {
	a, _ := ctx.Value(accountKey{}).(*Account)
	return a
}

// WithoutAccount returns a context for a part of an operation that counts its memory itself, like a stream.
func WithoutAccount(ctx context.Context) context.Context {
	return context.WithValue(ctx, accountKey{}, (*Account)(nil))
}

// Another returns an empty account of the same kind, for a part of the operation that ends before it; nil for a nil
// Account.
func (a *Account) Another() *Account {
	if a == nil {
		return nil
	}
	return &Account{Budget: a.Budget, Factor: a.Factor}
}

// Acquire makes the account hold at least n bytes, or the whole budget. It waits like Budget.Acquire.
func (a *Account) Acquire(ctx context.Context, n int64) error {
	n = min(n, a.Budget.Stats().Max)
	held, class := a.Held(), Answer
	if held >= n {
		return nil
	}
	if held > 0 {
		class = more
	}
	rest, err := a.Budget.acquire(ctx, class, n-held)
	if err != nil {
		return err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.hold = a.hold.joined(rest)
	return nil
}

// Resize makes the account hold n bytes, without waiting.
func (a *Account) Resize(n int64) {
	if a == nil {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.hold.Resize(n)
}

// Charge makes the account hold at least n bytes that are occupied already, also beyond the budget.
func (a *Account) Charge(n int64) {
	if a == nil {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if rest := n - a.hold.size(); rest > 0 {
		a.hold = a.hold.joined(a.Budget.Count(rest))
	}
}

// Held returns the number of bytes that the account holds.
func (a *Account) Held() int64 {
	if a == nil {
		return 0
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.hold.size()
}

// Release releases the memory. It may be called again.
func (a *Account) Release() {
	if a == nil {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.hold.Release()
	a.hold = nil
}

// Taken returns a body of which the bytes beyond Small count factor times once they are read, until it is
// closed.
func (b *Budget) Taken(ctx context.Context, body io.ReadCloser, factor int64) io.ReadCloser {
	return &taken{ReadCloser: body, ctx: ctx, Taker: Taker{Budget: b, Factor: factor}}
}

type taken struct {
	io.ReadCloser
	Taker

	ctx context.Context // of the request
	got int64
}

// Read implements io.Reader.
func (t *taken) Read(p []byte) (int, error) {
	t.Grow(t.ctx, t.got+1)
	n, err := t.ReadCloser.Read(p)
	t.got += int64(n)
	return n, err
}

// Close implements io.Closer.
func (t *taken) Close() error {
	t.Release()
	return t.ReadCloser.Close()
}

// Taker is the memory of a message of a peer while it arrives: Factor times its size. It belongs to one
// goroutine.
type Taker struct {
	Budget *Budget
	Factor int64

	room int64
	hold *Hold
}

// Grow takes memory for a message that has n bytes by now, in steps that double.
func (t *Taker) Grow(ctx context.Context, n int64) {
	if t.Budget == nil || n <= max(t.room, Small) {
		return
	}
	step := max(t.room, 4*Small)
	t.hold = t.hold.joined(t.Budget.Take(ctx, t.Factor*step))
	t.room += step
}

// Release releases the memory. It may be called again.
func (t *Taker) Release() {
	t.hold.Release()
	t.hold, t.room = nil, 0
}

// Counted returns the body of an answer to the operation of ctx, which counts in its Account beyond Small
// bytes. The events of a stream do not count, because they may be forgotten.
func Counted(ctx context.Context, resp *http.Response) io.ReadCloser {
	a := AccountOf(ctx)
	if a == nil || resp.Header.Get("Content-Type") == "text/event-stream" {
		return resp.Body
	}
	return &counted{ReadCloser: resp.Body, account: a, ctx: ctx, step: max(resp.ContentLength, 4*Small), room: Small}
}

// counted is the body of an answer.
type counted struct {
	io.ReadCloser

	account *Account
	ctx     context.Context // of the request
	// step is the number of bytes for which memory is acquired at once, room that for which there is some.
	step, room, got int64
}

// Read implements io.Reader. Its error wraps apierror.ErrExhausted if there is no memory.
func (c *counted) Read(p []byte) (int, error) {
	if c.room == c.got {
		if err := c.account.Acquire(c.ctx, c.account.Factor*(c.got+c.step)); err != nil {
			return 0, err
		}
		c.room = c.got + c.step
	}
	n, err := c.ReadCloser.Read(p[:min(int64(len(p)), c.room-c.got)])
	c.got += int64(n)
	return n, err
}
