package memory

import (
	"context"
	"iter"
	"strings"
	"sync"
	"time"

	"github.com/parley-a2a/parley/task"
)

// bell wakes those who watch notes. The zero bell is ready to use.
type bell struct {
	mu       sync.Mutex // guards watchers; never held while calling out
	watchers map[*watcher]struct{}
}

// watcher waits for notes of an owner whose keys begin so.
type watcher struct {
	owner  task.Owner
	prefix string
	wake   chan struct{}
}

func (b *bell) add(w *watcher) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.watchers == nil {
		b.watchers = make(map[*watcher]struct{})
	}
	b.watchers[w] = struct{}{}
}

func (b *bell) remove(w *watcher) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.watchers, w)
}

// ring wakes those who wait for a note. Whoever is awake already looks again.
func (b *bell) ring(owner task.Owner, key string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for w := range b.watchers {
		if w.owner == owner && strings.HasPrefix(key, w.prefix) {
			select {
			case w.wake <- struct{}{}:
			default:
			}
		}
	}
}

// Watch yields the notes of an owner whose keys begin so: those that are there, in the
// order of their keys, and then each that is set, until ctx ends or with an error that is
// the last item. Somebody who is slow sees a note that was set twice once, as it is; what
// came and went meanwhile he does not see. At most MaxList notes are watched.
func (n *Notes) Watch(ctx context.Context, owner task.Owner, prefix string) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		w := &watcher{owner, prefix, make(chan struct{}, 1)}
		n.bell.add(w)
		defer n.bell.remove(w)
		seen := make(map[string]time.Time)
		for {
			found, _, err := n.List(ctx, &List{Owner: owner, Prefix: prefix})
			if err != nil {
				yield(Entry{}, err)
				return
			}
			now := make(map[string]time.Time, len(found))
			for _, e := range found {
				now[e.Key] = e.UpdatedAt
				if was, ok := seen[e.Key]; (!ok || !was.Equal(e.UpdatedAt)) && !yield(e, nil) {
					return
				}
			}
			seen = now
			select {
			case <-ctx.Done():
				return
			case <-w.wake:
			}
		}
	}
}
