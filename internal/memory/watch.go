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

	"github.com/parley-a2a/parley/internal/wake"
	"github.com/parley-a2a/parley/task"
)

// ErrEnded is the final error of Watch after Run has ended.
var ErrEnded = errors.New("the notes are no longer stored")

// subscribers wakes the watchers of notes. The zero subscribers is ready to use.
type subscribers struct {
	mu       sync.Mutex // guards the fields and those of watchers; never held during calls out of the package
	watchers map[*watcher]struct{}
}

// watcher is the state of a Watch for notes of an owner with a prefix.
type watcher struct {
	owner  task.Owner
	prefix string
	wake   wake.Signal

	// keys are the keys set since the last take; all is set if there were too many of them, or
	// before the first take.
	keys map[string]struct{}
	all  bool
	// ended is set after the end of Run.
	ended bool
}

func (s *subscribers) add(w *watcher) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.watchers == nil {
		s.watchers = make(map[*watcher]struct{})
	}
	s.watchers[w] = struct{}{}
}

func (s *subscribers) remove(w *watcher) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.watchers, w)
}

// notify notifies the watchers of a note. It does not block.
func (s *subscribers) notify(owner task.Owner, key string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for w := range s.watchers {
		if w.owner == owner && strings.HasPrefix(key, w.prefix) {
			w.put(key)
		}
	}
}

// put records a key; the caller holds the lock of the subscribers.
func (w *watcher) put(key string) {
	switch {
	case w.all:
	case len(w.keys) == MaxList:
		w.keys, w.all = nil, true
	default:
		if w.keys == nil {
			w.keys = make(map[string]struct{})
		}
		w.keys[key] = struct{}{}
	}
	w.wake.Send()
}

// end notifies all watchers of the end.
func (s *subscribers) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for w := range s.watchers {
		w.ended = true
		w.wake.Send()
	}
}

// take returns the keys set since the last call, sorted; all is set if the watcher must read
// all notes.
func (s *subscribers) take(w *watcher) (keys []string, all, ended bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	keys, all = slices.Sorted(maps.Keys(w.keys)), w.all
	w.keys, w.all = nil, false
	return keys, all, w.ended
}

// Watch yields the notes of an owner with a prefix: first the existing ones, sorted by key,
// then each note that is set, until ctx ends. If the store fails or Run ends, the last element
// is an error, ErrEnded in the latter case. A slow watcher does not delay writers. It sees a
// note that was set several times once, in its current state, and misses notes that were
// deleted meanwhile. If more than MaxList notes were set meanwhile, it sees all notes again. A
// note that is set when Watch begins may be yielded twice.
func (n *Notes) Watch(ctx context.Context, owner task.Owner, prefix string) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		w := &watcher{owner: owner, prefix: prefix, wake: wake.New(), all: true}
		n.subscribers.add(w)
		defer n.subscribers.remove(w)
		for {
			keys, all, ended := n.subscribers.take(w)
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

// showAll yields all notes of a watcher; it returns false if the consumer stops.
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

// show yields the notes with the given keys that still exist.
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
