package batch

import (
	"context"
	"runtime"
	"slices"
	"sync"
)

// Most is the largest number of items that are sent together.
const Most = 64

// Convoy sends items of type T to destinations with keys of type K. The zero Convoy is ready to
// use.
type Convoy[K comparable, T any] struct {
	mu    sync.Mutex // guards the field below, and lines
	lines map[K]*line[T]
}

// line holds the items for one key, while there is a sender for it.
type line[T any] struct {
	// waiting is the next batch. Its first passenger is the leader, or will be.
	waiting []*passenger[T]
}

type passenger[T any] struct {
	item T
	turn chan turn // capacity 1
}

// turn notifies a passenger that its item was sent (err), that it is the leader (lead), or that
// it must send again (again).
type turn struct {
	lead, again bool
	err         error
}

// Send sends item to key by send. That may be the function of another call, and gets the items
// of several calls in the order of their arrival. Send returns the error of that function, or
// the cause of the end of ctx while it waits for others.
func (c *Convoy[K, T]) Send(ctx context.Context, key K, item T, send func([]T) error) error {
	for {
		p := &passenger[T]{item, make(chan turn, 1)}
		l, first := c.join(key, p)
		if first {
			return c.lead(ctx, key, l, send)
		}
		select {
		case t := <-p.turn:
			switch {
			case t.lead:
				return c.lead(ctx, key, l, send)
			case t.again && ctx.Err() == nil:
				continue
			}
			return t.err
		case <-ctx.Done():
			c.leave(key, l, p)
			return context.Cause(ctx)
		}
	}
}

// join puts p into the line of key; it reports whether p is the leader.
func (c *Convoy[K, T]) join(key K, p *passenger[T]) (l *line[T], first bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if l = c.lines[key]; l == nil {
		l, first = new(line[T]), true
		if c.lines == nil {
			c.lines = make(map[K]*line[T])
		}
		c.lines[key] = l
	}
	l.waiting = append(l.waiting, p)
	return l, first
}

// leave removes p from its line, unless it is being sent.
func (c *Convoy[K, T]) leave(key K, l *line[T], p *passenger[T]) {
	c.mu.Lock()
	defer c.mu.Unlock()
	i := slices.Index(l.waiting, p)
	if i < 0 {
		return
	}
	l.waiting = slices.Delete(l.waiting, i, i+1)
	if len(p.turn) > 0 {
		c.passLocked(key, l)
	}
}

// lead sends the waiting items, that of the caller first, and passes the lead on. If that fails
// because ctx has ended, the others send again.
func (c *Convoy[K, T]) lead(ctx context.Context, key K, l *line[T], send func([]T) error) error {
	runtime.Gosched() // lets other goroutines join
	all := c.take(l)
	items := make([]T, len(all))
	for i, p := range all {
		items[i] = p.item
	}
	err := send(items)
	t := turn{err: err, again: err != nil && ctx.Err() != nil}
	for _, p := range all[1:] {
		p.turn <- t
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.passLocked(key, l)
	return err
}

func (c *Convoy[K, T]) take(l *line[T]) []*passenger[T] {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := min(len(l.waiting), Most)
	all := l.waiting[:n:n]
	l.waiting = l.waiting[n:]
	return all
}

// passLocked makes the next passenger the leader.
func (c *Convoy[K, T]) passLocked(key K, l *line[T]) {
	if len(l.waiting) == 0 {
		delete(c.lines, key)
		return
	}
	l.waiting[0].turn <- turn{lead: true}
}
