// Package taskruns keeps the runs of the tasks of an agent that executes them in this process.
//
// Cancel of an executor finds with it the runs that it has to end: usually one, and none after a
// restart of the hub. A task may have several for a moment, because a hub may begin a run before the
// one before it is over. A Set is safe for concurrent use.
package taskruns

import (
	"context"
	"slices"
	"sync"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/auth"
	"github.com/parley-a2a/parley/task"
)

// Key identifies a task: an id is unique within its owner only.
type Key struct {
	Owner task.Owner
	Task  a2a.TaskID
}

// KeyOf returns the key of a task of the caller of ctx.
func KeyOf(ctx context.Context, id a2a.TaskID) Key { return Key{auth.PrincipalFrom(ctx).Owner(), id} }

// Set holds runs. The zero Set is empty.
type Set[R comparable] struct {
	mu  sync.Mutex // guards the field below
	all map[Key][]R
}

// Enter adds a run of a task, until leave is called.
func (s *Set[R]) Enter(k Key, r R) (leave func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.all == nil {
		s.all = make(map[Key][]R)
	}
	s.all[k] = append(s.all[k], r)
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.all[k] = slices.DeleteFunc(s.all[k], func(other R) bool { return other == r })
		if len(s.all[k]) == 0 {
			delete(s.all, k)
		}
	}
}

// Of returns the runs of a task, the oldest first.
func (s *Set[R]) Of(k Key) []R {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.all[k])
}

// Len returns the number of tasks with runs.
func (s *Set[R]) Len() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.all)
}
