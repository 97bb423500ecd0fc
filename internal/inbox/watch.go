package inbox

import (
	"context"
	"errors"
	"iter"
	"sync"

	"github.com/parley-a2a/parley/internal/wake"
)

// maxUnread is the maximum number of unread items of a watcher.
const maxUnread = 1000

// ErrBehind is returned to a watcher that did not read for too long. It must list the items
// again.
var ErrBehind = errors.New("too many items of the inbox have changed meanwhile")

// watcher is the state of one call of Watch.
type watcher struct {
	wake wake.Signal

	mu    sync.Mutex // guards the fields below
	items []Item
	err   error
}

// Watch yields each item that is put or settled from now on, in its state at that time, until
// ctx ends. The last element is an error: the cause of ctx, ErrBehind or ErrClosed.
func (b *Inbox) Watch(ctx context.Context) iter.Seq2[Item, error] {
	w := b.watch()
	return func(yield func(Item, error) bool) {
		defer b.unwatch(w)
		for {
			items, err := w.take()
			for _, it := range items {
				if !yield(it, nil) {
					return
				}
			}
			if err != nil {
				yield(Item{}, err)
				return
			}
			select {
			case <-w.wake:
			case <-ctx.Done():
				yield(Item{}, context.Cause(ctx))
				return
			}
		}
	}
}

func (b *Inbox) watch() *watcher {
	w := &watcher{wake: wake.New()}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		w.end(ErrClosed)
	}
	if b.watchers == nil {
		b.watchers = make(map[*watcher]struct{})
	}
	b.watchers[w] = struct{}{}
	return w
}

func (b *Inbox) unwatch(w *watcher) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.watchers, w)
}

// notify sends an item to all watchers.
func (b *Inbox) notify(it *Item) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for w := range b.watchers {
		w.add(it)
	}
}

func (w *watcher) add(it *Item) {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case w.err != nil:
		return
	case len(w.items) >= maxUnread:
		w.items, w.err = nil, ErrBehind
	default:
		w.items = append(w.items, *it)
	}
	w.wake.Send()
}

// end makes err the final error of the watcher.
func (w *watcher) end(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err == nil {
		w.err = err
		w.wake.Send()
	}
}

// take returns the unread items, and the final error if there is one.
func (w *watcher) take() ([]Item, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	items := w.items
	w.items = nil
	return items, w.err
}
