package batch

import (
	"context"
	"runtime"
	"slices"
	"sync"
	"time"
)

// MaxItems is the largest number of items that are sent together.
const MaxItems = 64

// Batcher sends items of type T to destinations with keys of type K. The zero Batcher is ready to
// use.
type Batcher[K comparable, T any] struct {
	mu     sync.Mutex // guards the fields below, and queues
	queues map[K]*queue[T]
	// last is the size of the last batch.
	last int
}

// queue holds the items for one key, while there is a sender for it.
type queue[T any] struct {
	// waiting is the next batch. Its first entry is the leader, or will be.
	waiting []*entry[T]
}

type entry[T any] struct {
	item   T
	signal chan signal // capacity 1
}

// signal notifies a sender that its item was sent (err), that it is the leader (lead), or that
// it must send again (again).
type signal struct {
	lead, again bool
	err         error
}

// Send sends item to key by send. That may be the function of another call, and gets the items
// of several calls in the order of their arrival. Send returns the error of that function, or
// the cause of the end of ctx while it waits for others.
func (c *Batcher[K, T]) Send(ctx context.Context, key K, item T, send func([]T) error) error {
	for {
		p := &entry[T]{item, make(chan signal, 1)}
		l, first := c.join(key, p)
		if first {
			return c.lead(ctx, key, l, send)
		}
		select {
		case t := <-p.signal:
			switch {
			case t.lead:
				return c.lead(ctx, key, l, send)
			case t.again && ctx.Err() == nil:
				continue
			}
			return t.err
		case <-ctx.Done():
			c.remove(key, l, p)
			return context.Cause(ctx)
		}
	}
}

// join puts p into the queue of key; it reports whether p is the leader.
func (c *Batcher[K, T]) join(key K, p *entry[T]) (l *queue[T], first bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if l = c.queues[key]; l == nil {
		l, first = new(queue[T]), true
		if c.queues == nil {
			c.queues = make(map[K]*queue[T])
		}
		c.queues[key] = l
	}
	l.waiting = append(l.waiting, p)
	return l, first
}

// remove removes p from its queue, unless it is being sent.
func (c *Batcher[K, T]) remove(key K, l *queue[T], p *entry[T]) {
	c.mu.Lock()
	defer c.mu.Unlock()
	i := slices.Index(l.waiting, p)
	if i < 0 {
		return
	}
	l.waiting = slices.Delete(l.waiting, i, i+1)
	if len(p.signal) > 0 {
		c.passLocked(key, l)
	}
}

// lead sends the waiting items, that of the caller first, and passes the lead on. If that fails
// because ctx has ended, the others send again.
func (c *Batcher[K, T]) lead(ctx context.Context, key K, l *queue[T], send func([]T) error) error {
	c.linger(ctx, l)
	all := c.take(l)
	items := make([]T, len(all))
	for i, p := range all {
		items[i] = p.item
	}
	err := send(items)
	t := signal{err: err, again: err != nil && ctx.Err() != nil}
	for _, p := range all[1:] {
		p.signal <- t
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.passLocked(key, l)
	return err
}

// A sender waits for others if the last batch had at least crowd items.
const (
	crowd = 4
	pause = 500 * time.Microsecond
)

// linger lets other goroutines join.
func (c *Batcher[K, T]) linger(ctx context.Context, l *queue[T]) {
	runtime.Gosched()
	c.mu.Lock()
	alone := c.last < crowd || len(l.waiting) >= MaxItems
	c.mu.Unlock()
	if alone {
		return
	}
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

func (c *Batcher[K, T]) take(l *queue[T]) []*entry[T] {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := min(len(l.waiting), MaxItems)
	all := l.waiting[:n:n]
	l.waiting = l.waiting[n:]
	c.last = n
	return all
}

// passLocked makes the next sender the leader.
func (c *Batcher[K, T]) passLocked(key K, l *queue[T]) {
	if len(l.waiting) == 0 {
		delete(c.queues, key)
		return
	}
	l.waiting[0].signal <- signal{lead: true}
}
