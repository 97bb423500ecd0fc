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

// lane has no agent for tasks that run side by side.
type lane struct {
	owner   task.Owner
	agent   task.Agent
	context string
	// away says that the run waits for work elsewhere: agent.Traits.Away.
	away bool
}

// crewOf returns who runs the tasks of a lane.
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

// serial reports whether one task of the lane runs at one time.
func (l *lane) serial() bool { return l.agent != "" }

// side is the half of the line to which a lane belongs: runs that work here do not wait
// for those that wait for others.
func (l *lane) side() int {
	if l.away {
		return 1
	}
	return 0
}

// line decides which task runs when: at most max of a side at one time, and at most one
// of a serial lane. Who cannot run waits in the order of arrival at its side.
type line struct {
	mu      sync.Mutex // guards the fields below
	max     [2]int
	running [2]int
	queue   [2][]seat
	lanes   map[lane][]seat // waiting behind a running task of the lane
	waiting int
}

func newLine(here, away int) *line {
	return &line{max: [2]int{here, away}, lanes: make(map[lane][]seat)}
}

// tryEnter takes a place for a run, and reports whether there was one.
func (q *line) tryEnter(l lane) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.enterLocked(l)
}

func (q *line) enterLocked(l lane) bool {
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

// wait puts s in line and returns the seats that may run now: usually none, or s
// itself if a place has become free meanwhile.
func (q *line) wait(s seat) []seat {
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

// leave gives a place back and returns the seats that may run now.
func (q *line) leave(l lane) []seat {
	q.mu.Lock()
	defer q.mu.Unlock()
	side := l.side()
	q.running[side]--
	if l.serial() {
		behind := q.lanes[l]
		delete(q.lanes, l)
		if len(behind) > 0 {
			// The first takes its turn in the common line, the others stay behind it.
			q.queue[side] = append(q.queue[side], behind...)
		}
	}
	return q.nextLocked(side)
}

// nextLocked takes places for the seats in front that can run, on one side.
func (q *line) nextLocked(side int) []seat {
	var next []seat
	for len(q.queue[side]) > 0 && q.running[side] < q.max[side] {
		s := q.queue[side][0]
		q.queue[side] = q.queue[side][1:]
		if !q.enterLocked(s.lane) {
			q.lanes[s.lane] = append(q.lanes[s.lane], s)
			continue
		}
		q.waiting--
		next = append(next, s)
	}
	return next
}

// size returns how many runs there are, and how many seats wait.
func (q *line) size() (running, waiting int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.running[0] + q.running[1], q.waiting
}

// length returns how many seats wait.
func (q *line) length() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.waiting
}
