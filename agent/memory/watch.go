package memory

import (
	"context"
	"errors"
	"iter"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/parley-a2a/parley/task"
)

// ErrEnded is what those who watch notes are told when nobody keeps them any more.
var ErrEnded = errors.New("the notes are not kept any more")

// bell wakes those who watch notes. The zero bell is ready to use.
type bell struct {
	mu       sync.Mutex // guards the fields and those of watchers; never held while calling out
	watchers map[*watcher]struct{}
}

// watcher waits for notes of an owner whose keys begin so.
type watcher struct {
	owner  task.Owner
	prefix string
	wake   chan struct{}

	// keys are those that were set since the watcher has looked; all says that there were
	// too many of them, or that it has not looked yet.
	keys map[string]struct{}
	all  bool
	// ended says that nothing comes any more.
	ended bool
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

// ring tells those who wait for a note. It waits for nobody.
func (b *bell) ring(owner task.Owner, key string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for w := range b.watchers {
		if w.owner == owner && strings.HasPrefix(key, w.prefix) {
			w.put(key)
		}
	}
}

// put takes a key down; the caller holds the lock of the bell.
func (w *watcher) put(key string) {
	switch {
	case w.all:
	case len(w.keys) == MaxList:
		w.keys, w.all = nil, true
	case w.keys == nil:
		w.keys = make(map[string]struct{})
		fallthrough
	default:
		w.keys[key] = struct{}{}
	}
	w.rouse()
}

func (w *watcher) rouse() {
	select {
	case w.wake <- struct{}{}:
	default: // it is awake, and looks again
	}
}

// end tells those who watch that nothing comes any more.
func (b *bell) end() {
	b.mu.Lock()
	defer b.mu.Unlock()
	for w := range b.watchers {
		w.ended = true
		w.rouse()
	}
}

// take returns what was set since the last time: keys in their order, or all.
func (b *bell) take(w *watcher) (keys []string, all, ended bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	keys, all = slices.Sorted(maps.Keys(w.keys)), w.all
	w.keys, w.all = nil, false
	return keys, all, w.ended
}

// Watch yields the notes of an owner whose keys begin so: those that are there, in the
// order of their keys, and then each that is set, until ctx ends or with an error that is
// the last item; ErrEnded says that Run has ended meanwhile. Nobody waits for whoever is slow: he
// sees a note that was set twice once, as it is, and what came and went meanwhile not at
// all. More than MaxList notes later he sees all of them again. A note that is set in the
// moment in which the watching begins may be seen twice.
func (n *Notes) Watch(ctx context.Context, owner task.Owner, prefix string) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		w := &watcher{owner: owner, prefix: prefix, wake: make(chan struct{}, 1), all: true}
		n.bell.add(w)
		defer n.bell.remove(w)
		for {
			keys, all, ended := n.bell.take(w)
			var err error
			more := true
			if all {
				more, err = n.showAll(ctx, w, yield)
			} else {
				more, err = n.show(ctx, w, keys, yield)
			}
			if err == nil && ended {
				err = ErrEnded
			}
			switch {
			case !more || ctx.Err() != nil:
				return
			case err != nil:
				yield(Entry{}, err)
				return
			}
			select {
			case <-ctx.Done():
				return
			case <-w.wake:
			}
		}
	}
}

// showAll yields the notes that a watcher waits for; it reports whether he wants more.
func (n *Notes) showAll(ctx context.Context, w *watcher, yield func(Entry, error) bool) (bool, error) {
	after := ""
	for {
		page, more, err := n.List(ctx, &List{Owner: w.owner, Prefix: w.prefix, After: after})
		if err != nil {
			return true, err
		}
		for _, e := range page {
			if !yield(e, nil) {
				return false, nil
			}
			after = e.Key
		}
		if !more {
			return true, nil
		}
	}
}

// show yields the notes with some keys, as far as they are still there.
func (n *Notes) show(ctx context.Context, w *watcher, keys []string, yield func(Entry, error) bool) (bool, error) {
	for _, key := range keys {
		found, err := n.store().Read(ctx, &Range{Owner: w.owner, Key: key, At: time.Now(), Limit: 1, Clip: Indexed})
		if err != nil {
			return true, err
		}
		if len(found) > 0 && !yield(entryOf(&found[0]), nil) {
			return false, nil
		}
	}
	return true, nil
}
