package engine

import (
	"sync"

	"github.com/parley-a2a/parley/task"
)

// ticket is a task that waits for a run. Tasks of one context of a
// Serial agent share a lane and run one after the other.
type ticket struct {
	live *live
	lane lane
	// goesOn is set for a run that an earlier process has started. It is not held up if its
	// agent is paused.
	goesOn bool
}

// lane identifies the tasks that run one after the other. It has no agent for tasks that run
// concurrently.
type lane struct {
	owner   task.Owner
	agent   task.Agent
	context string
	// away is set if the run waits for work elsewhere: agent.Traits.Away.
	away bool
}

// crewOf returns the goroutines that run the tasks of a lane.
func (e *Engine) crewOf(ln *lane) *crew {
	if ln.away {
		return &e.away
	}
	return &e.execs
}

// laneOf returns the lane of a task.
func laneOf(a *Agent, h *task.Head) lane {
	t := a.traits()
	away := t.Away && t.Resumable
	if !t.Serial {
		return lane{away: away}
	}
	return lane{h.Owner, h.Performer(), h.ContextID, away}
}

// serial reports whether only one task of the lane runs at a time.
func (l *lane) serial() bool { return l.agent != "" }

// side returns the index of the queue of a lane: runs that work in this process do not wait for
// runs that wait for others.
func (l *lane) side() int {
	if l.away {
		return 1
	}
	return 0
}

// scheduler decides which task runs when: at most max runs of a side at a time, and at most one
// of a serial lane. Tickets that cannot run wait in the order of arrival at their side.
type scheduler struct {
	mu      sync.Mutex // guards the fields below
	max     [2]int
	running [2]int
	queue   [2][]ticket
	lanes   map[lane][]ticket // waiting behind a running task of the lane
	waiting int
}

func newScheduler(here, away int) *scheduler {
	return &scheduler{max: [2]int{here, away}, lanes: make(map[lane][]ticket)}
}

// tryAcquire takes a place for a run. It reports whether one was free.
func (q *scheduler) tryAcquire(l lane) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.acquireLocked(l)
}

func (q *scheduler) acquireLocked(l lane) bool {
	side := l.side()
	if q.running[side] >= q.max[side] {
		return false
	}
	if l.serial() {
		if _, busy := q.lanes[l]; busy {
			return false
		}
		q.lanes[l] = nil
	}
	q.running[side]++
	return true
}

// wait queues s and returns the tickets that may run now: usually none, or s itself if a place
// has become free meanwhile.
func (q *scheduler) wait(s ticket) []ticket {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.waiting++
	if _, busy := q.lanes[s.lane]; busy && s.lane.serial() {
		q.lanes[s.lane] = append(q.lanes[s.lane], s)
	} else {
		q.queue[s.lane.side()] = append(q.queue[s.lane.side()], s)
	}
	return q.nextLocked(s.lane.side())
}

// release frees a place and returns the tickets that may run now.
func (q *scheduler) release(l lane) []ticket {
	q.mu.Lock()
	defer q.mu.Unlock()
	side := l.side()
	q.running[side]--
	if l.serial() {
		behind := q.lanes[l]
		delete(q.lanes, l)
		if len(behind) > 0 {
			// The first one moves to the queue of its side; the others stay behind it.
			q.queue[side] = append(q.queue[side], behind...)
		}
	}
	return q.nextLocked(side)
}

// nextLocked takes places for the first tickets of one side that can run.
func (q *scheduler) nextLocked(side int) []ticket {
	var next []ticket
	for len(q.queue[side]) > 0 && q.running[side] < q.max[side] {
		s := q.queue[side][0]
		q.queue[side] = q.queue[side][1:]
		if !q.acquireLocked(s.lane) {
			q.lanes[s.lane] = append(q.lanes[s.lane], s)
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

// length returns the number of waiting tickets.
func (q *scheduler) length() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.waiting
}
