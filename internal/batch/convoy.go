package batch

import (
	"context"
	"runtime"
	"slices"
	"sync"
)

// Most is how many items are sent together.
const Most = 64

// Convoy sends items of type T to places with keys of type K. The zero Convoy is ready.
type Convoy[K comparable, T any] struct {
	mu    sync.Mutex // guards the field below, and lines
	lines map[K]*line[T]
}

// line is what goes to one key, as long as somebody sends there.
type line[T any] struct {
	// waiting is to be sent next. Who comes first there has the lead, or will.
	waiting []*passenger[T]
}

type passenger[T any] struct {
	item T
	turn chan turn // capacity 1
}

// turn says that an item was sent, or that its passenger has the lead.
type turn struct {
	lead, again bool
	err         error
}

// Send has item sent to key by send, which may be the function of another call, and gets
// the items of several. Their order is that in which they came. It returns what that
// returns, or the cause of the end of ctx while it waits for others.
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

// join puts p into the line of key; it reports whether p is to lead.
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

// leave takes p out of its line, unless it is under way.
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

// lead sends what waits, the item of the caller first, and gives the lead away. The others
// try again if that has failed because ctx has ended.
func (c *Convoy[K, T]) lead(ctx context.Context, key K, l *line[T], send func([]T) error) error {
	runtime.Gosched() // to those who are about to join
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

// passLocked gives the lead to the next one.
func (c *Convoy[K, T]) passLocked(key K, l *line[T]) {
	if len(l.waiting) == 0 {
		delete(c.lines, key)
		return
	}
	l.waiting[0].turn <- turn{lead: true}
}
