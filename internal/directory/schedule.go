package directory

import (
	"container/heap"
	"context"
	"sync"
	"time"

	"github.com/parley-a2a/parley/internal/wake"
	"github.com/parley-a2a/parley/task"
)

// schedule holds the time of the next probe of each agent.
type schedule struct {
	mu    sync.Mutex // guards the fields below
	queue dueHeap
	next  map[task.Agent]time.Time // the valid entries of queue
	wake  wake.Signal
}

// due is an agent and a time.
type due struct {
	name task.Agent
	at   time.Time
}

// dueHeap is a heap, earliest first.
type dueHeap []due

func (q dueHeap) Len() int           { return len(q) }
func (q dueHeap) Less(i, j int) bool { return q[i].at.Before(q[j].at) }
func (q dueHeap) Swap(i, j int)      { q[i], q[j] = q[j], q[i] }

// Push implements heap.Interface.
func (q *dueHeap) Push(x any) { *q = append(*q, x.(due)) }

// Pop implements heap.Interface.
func (q *dueHeap) Pop() any {
	last := (*q)[len(*q)-1]
	*q = (*q)[:len(*q)-1]
	return last
}

// at schedules an agent, replacing its earlier time.
func (s *schedule) at(name task.Agent, t time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.next[name] = t
	heap.Push(&s.queue, due{name, t})
	s.wake.Send()
}

// take returns an agent that is due, or the time until the next one is due; a negative duration
// means that nothing is scheduled.
func (s *schedule) take(now time.Time) (name task.Agent, wait time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for len(s.queue) > 0 {
		first := s.queue[0]
		if t, ok := s.next[first.name]; !ok || !t.Equal(first.at) {
			heap.Pop(&s.queue) // replaced by a later call of at
			continue
		}
		if wait := first.at.Sub(now); wait > 0 {
			return "", wait
		}
		heap.Pop(&s.queue)
		delete(s.next, first.name)
		return first.name, 0
	}
	return "", -1
}

// wait blocks until an agent is due and returns it; it returns false when ctx ends.
func (s *schedule) wait(ctx context.Context) (task.Agent, bool) {
	for {
		name, d := s.take(time.Now())
		if name != "" {
			return name, true
		}
		var timeout <-chan time.Time
		if d >= 0 {
			timer := time.NewTimer(d)
			defer timer.Stop()
			timeout = timer.C
		}
		select {
		case <-timeout:
		case <-s.wake:
		case <-ctx.Done():
			return "", false
		}
	}
}
