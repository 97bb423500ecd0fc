package engine

import (
	"sync"
	"time"

	"github.com/parley-a2a/parley/task"
)

// ticket is a task that waits for a run. Tasks of one context of a
// Serial agent share a key and run one after the other.
type ticket struct {
	live *live
	key  queueKey
	// recovered is set for a run that an earlier process has started. It is not held up if its
	// agent is paused.
	recovered bool
	// rested is set if the task is claimed, and its last run rests.
	rested bool
	// since is when the ticket began to wait.
	since time.Time
	// begun is called when the run has begun, or will not begin soon; it may be nil.
	begun func()
}

func (s *ticket) hasBegun() {
	if s.begun != nil {
		s.begun()
	}
}

// queueKey identifies the tasks that run one after the other. It has no agent for tasks that run
// concurrently.
type queueKey struct {
	owner   task.Owner
	agent   task.Agent
	context string
	// away is set if the run waits for work elsewhere: agent.Traits.Away.
	away bool
}

// goroutinesOf returns the goroutines that run the tasks of a key.
func (e *Engine) goroutinesOf(k *queueKey) *goroutines {
	if k.away {
		return &e.away
	}
	return &e.execs
}

// queueKeyOf returns the key of a task.
func queueKeyOf(a *Agent, h *task.Head) queueKey {
	t := a.traits()
	away := t.Away && t.Resumable
	if !t.Serial {
		return queueKey{away: away}
	}
	return queueKey{h.Owner, h.Performer(), h.ContextID, away}
}

// serial reports whether only one task of the key runs at a time.
func (k *queueKey) serial() bool { return k.agent != "" }

// class returns the index of the queue of a key: runs that work in this process do not wait for
// runs that wait for others.
func (k *queueKey) class() int {
	if k.away {
		return 1
	}
	return 0
}

// scheduler decides which task runs when: at most max runs of a class at a time, and at most one
// of a serial key. Tickets that cannot run wait in the order of arrival in their class.
type scheduler struct {
	mu      sync.Mutex // guards the fields below
	max     [2]int
	running [2]int
	queue   [2][]ticket
	serial  map[queueKey][]ticket // waiting behind a running task of the key
	waiting int
}

func newScheduler(here, away int) *scheduler {
	return &scheduler{max: [2]int{here, away}, serial: make(map[queueKey][]ticket)}
}

// tryAcquire takes a place for a run. It reports whether one was free.
func (q *scheduler) tryAcquire(k queueKey) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.acquireLocked(k)
}

func (q *scheduler) acquireLocked(k queueKey) bool {
	class := k.class()
	if q.running[class] >= q.max[class] {
		return false
	}
	if k.serial() {
		if _, busy := q.serial[k]; busy {
			return false
		}
		q.serial[k] = nil
	}
	q.running[class]++
	return true
}

// wait queues s and returns the tickets that may run now: usually none, or s itself if a place
// has become free meanwhile.
func (q *scheduler) wait(s ticket) []ticket {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.waiting++
	s.since = time.Now()
	if _, busy := q.serial[s.key]; busy && s.key.serial() {
		q.serial[s.key] = append(q.serial[s.key], s)
	} else {
		q.queue[s.key.class()] = append(q.queue[s.key.class()], s)
	}
	return q.nextLocked(s.key.class())
}

// release frees a place and returns the tickets that may run now.
func (q *scheduler) release(k queueKey) []ticket {
	q.mu.Lock()
	defer q.mu.Unlock()
	class := k.class()
	q.running[class]--
	if k.serial() {
		behind := q.serial[k]
		delete(q.serial, k)
		if len(behind) > 0 {
			// The first one moves to the queue of its class; the others stay behind it.
			q.queue[class] = append(q.queue[class], behind...)
		}
	}
	return q.nextLocked(class)
}

// nextLocked takes places for the first tickets of one class that can run.
func (q *scheduler) nextLocked(class int) []ticket {
	var next []ticket
	for len(q.queue[class]) > 0 && q.running[class] < q.max[class] {
		s := q.queue[class][0]
		q.queue[class] = q.queue[class][1:]
		if !q.acquireLocked(s.key) {
			q.serial[s.key] = append(q.serial[s.key], s)
			continue
		}
		q.waiting--
		next = append(next, s)
	}
	return next
}

// size returns the number of runs, and the number of waiting tickets.
func (q *scheduler) size() (running, waiting int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.running[0] + q.running[1], q.waiting
}

// oldest returns when the oldest of the waiting tickets began to wait; zero if none waits.
func (q *scheduler) oldest() time.Time {
	q.mu.Lock()
	defer q.mu.Unlock()
	var oldest time.Time
	look := func(list []ticket) { // the first ticket of a list is its oldest, or near to it
		if len(list) > 0 && (oldest.IsZero() || list[0].since.Before(oldest)) {
			oldest = list[0].since
		}
	}
	for _, list := range q.queue {
		look(list)
	}
	for _, list := range q.serial {
		look(list)
	}
	return oldest
}

// length returns the number of waiting tickets.
func (q *scheduler) length() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.waiting
}
