package engine

import (
	"sync"

	"github.com/parley-a2a/parley/task"
)

// seat is the place of one task in the line of runs. Tasks of one context of a
// Serial agent share a lane and run one after the other.
type seat struct {
	live *live
	lane lane
	// goesOn is set for a run that an earlier process has left: it has begun, and is not
	// held up where its agent is paused.
	goesOn bool
}

// lane is empty for tasks that run side by side.
type lane struct {
	owner   task.Owner
	agent   task.Agent
	context string
}

// line decides which task runs when: at most max at one time, and at most one of
// a lane. Who cannot run waits in the order of arrival.
type line struct {
	mu      sync.Mutex // guards the fields below
	max     int
	running int
	queue   []seat
	lanes   map[lane][]seat // waiting behind a running task of the lane
	waiting int
}

func newLine(limit int) *line {
	return &line{max: limit, lanes: make(map[lane][]seat)}
}

// tryEnter takes a place for a run, and reports whether there was one.
func (q *line) tryEnter(l lane) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.enterLocked(l)
}

func (q *line) enterLocked(l lane) bool {
	if q.running >= q.max {
		return false
	}
	if l != (lane{}) {
		if _, busy := q.lanes[l]; busy {
			return false
		}
		q.lanes[l] = nil
	}
	q.running++
	return true
}

// wait puts s in line and returns the seats that may run now: usually none, or s
// itself if a place has become free meanwhile.
func (q *line) wait(s seat) []seat {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.waiting++
	if _, busy := q.lanes[s.lane]; busy && s.lane != (lane{}) {
		q.lanes[s.lane] = append(q.lanes[s.lane], s)
	} else {
		q.queue = append(q.queue, s)
	}
	return q.nextLocked()
}

// leave gives a place back and returns the seats that may run now.
func (q *line) leave(l lane) []seat {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.running--
	if l != (lane{}) {
		behind := q.lanes[l]
		delete(q.lanes, l)
		if len(behind) > 0 {
			// The first takes its turn in the common line, the others stay behind it.
			q.queue = append(q.queue, behind...)
		}
	}
	return q.nextLocked()
}

// nextLocked takes places for the seats in front that can run.
func (q *line) nextLocked() []seat {
	var next []seat
	for len(q.queue) > 0 && q.running < q.max {
		s := q.queue[0]
		q.queue = q.queue[1:]
		if !q.enterLocked(s.lane) {
			q.lanes[s.lane] = append(q.lanes[s.lane], s)
			continue
		}
		q.waiting--
		next = append(next, s)
	}
	return next
}

// length returns how many seats wait.
func (q *line) length() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.waiting
}
