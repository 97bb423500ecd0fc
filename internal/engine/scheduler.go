package engine

import (
	"cmp"
	"slices"
	"sync"
	"time"

	"github.com/parley-a2a/parley/internal/task"
)

// ticket is a task that waits for a run. Tasks of one context of a
// Serial agent share a key and run one after the other.
type ticket struct {
	live *live
	key  queueKey
	// at is the position among the tickets of a serial key.
	at position
	// after is the epoch of the run that has ended before, in this process or an earlier one. Zero means
	// that any may have been the last one.
	after int64
	// recovered is set for a run that an earlier process has started. It is not held up if its
	// agent is paused.
	recovered bool
	// rested is set if the task is claimed, and its last run rests, or has ended with its process.
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

// position is the place of a message in the order of acceptance of its line.
type position struct {
	task task.Key
	// at increases in a line; later is set for a message to a task that existed before.
	at    task.Millis
	later bool
}

// before reports whether p was accepted before q. Keys increase with each task, whatever the clock
// shows; the other messages have their times alone.
func (p position) before(q position) bool {
	if p.at == q.at || !p.later && !q.later {
		return p.task < q.task
	}
	return p.at < q.at
}

// position returns the position of the next unread message.
func (l *live) position() position {
	l.mu.Lock()
	defer l.mu.Unlock()
	p := position{task: l.head.Key}
	if len(l.inbox) > 0 {
		p.at, p.later = l.inbox[0].at, l.inbox[0].version > 1
	}
	return p
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
	if !t.Serial {
		return queueKey{away: t.Away}
	}
	return queueKey{h.Owner, h.Performer(), h.ContextID, t.Away}
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
// of a serial key. Tickets that cannot run wait in the order of arrival in their class; those of a
// serial key in the order of acceptance, also if they arrive in another one after a restart.
//
// A key and a place are held by a run, or by a ticket that is launched. Both end with release.
type scheduler struct {
	mu      sync.Mutex // guards the fields below
	max     [2]int
	running [2]int
	queue   [2][]turn
	lines   map[queueKey]*line
	waiting int
	// holds counts the reasons for which no run of a serial key begins: tickets with an earlier
	// position may follow.
	holds int
}

// line holds the tickets of a serial key, in the order of acceptance.
type line struct {
	waiting []ticket
	// running counts the runs that have the key: one, unless runs of another hub were taken over.
	running int
	// queued is set while the line has a turn in the queue of its class.
	queued bool
	// last is the time of the message that was accepted last.
	last task.Millis
}

// turn is an element of the queue of a class: a ticket, or the first ticket of a line.
type turn struct {
	ticket ticket
	line   *line
}

func newScheduler(here, away int) *scheduler {
	return &scheduler{max: [2]int{here, away}, lines: make(map[queueKey]*line)}
}

// hold prevents that runs of serial keys begin, until open is called as often.
func (q *scheduler) hold() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.holds++
}

// open ends one hold. It returns the tickets that may run now.
func (q *scheduler) open() []ticket {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.holds--; q.holds > 0 {
		return nil
	}
	var ready []*line
	for _, n := range q.lines {
		if n.ready() {
			ready = append(ready, n)
		}
	}
	slices.SortFunc(ready, func(a, b *line) int { return cmp.Compare(a.waiting[0].at.task, b.waiting[0].at.task) })
	for _, n := range ready {
		q.queueLocked(n)
	}
	return append(q.nextLocked(0), q.nextLocked(1)...)
}

// stamp returns the time of a message that is accepted at the given time: in a line, times increase
// even if the clock does not.
func (q *scheduler) stamp(k queueKey, at task.Millis) task.Millis {
	q.mu.Lock()
	defer q.mu.Unlock()
	n := q.lines[k]
	if n == nil {
		return at
	}
	n.last = max(at, n.last+1)
	return n.last
}

// tryAcquire takes a place for a run. It reports whether one was free.
func (q *scheduler) tryAcquire(k queueKey) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	class := k.class()
	if q.running[class] >= q.max[class] {
		return false
	}
	if k.serial() {
		if q.holds > 0 || q.lines[k] != nil {
			return false
		}
		q.lines[k] = &line{running: 1}
	}
	q.running[class]++
	return true
}

// resume takes a place for a run that continues the work of an earlier one elsewhere. It does not
// wait for other runs: they may wait for what that work holds.
func (q *scheduler) resume(k queueKey) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.running[k.class()]++
	if k.serial() {
		q.lineLocked(k).running++
	}
}

func (q *scheduler) lineLocked(k queueKey) *line {
	n := q.lines[k]
	if n == nil {
		n = new(line)
		q.lines[k] = n
	}
	return n
}

// wait queues s and returns the tickets that may run now: usually none, or s itself if a place
// has become free meanwhile. It reports whether s was queued: a second ticket for the same message
// of a serial key is not.
func (q *scheduler) wait(s ticket) (next []ticket, queued bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	s.since = time.Now()
	class := s.key.class()
	if s.key.serial() {
		n := q.lineLocked(s.key)
		i := len(n.waiting) // nearly all tickets come in their order
		for i > 0 && s.at.before(n.waiting[i-1].at) {
			i--
		}
		if i > 0 && n.waiting[i-1].at == s.at {
			return nil, false
		}
		n.waiting = slices.Insert(n.waiting, i, s)
		n.last = max(n.last, s.at.at)
		q.queueLocked(n)
	} else {
		q.queue[class] = append(q.queue[class], turn{ticket: s})
	}
	q.waiting++
	return q.nextLocked(class), true
}

// ready reports whether a run of the line may begin once there is a place for it.
func (n *line) ready() bool { return n.running == 0 && len(n.waiting) > 0 }

// queueLocked gives a line a turn in the queue of its class, if it has none.
func (q *scheduler) queueLocked(n *line) {
	if q.holds == 0 && n.ready() && !n.queued {
		n.queued = true
		class := n.waiting[0].key.class()
		q.queue[class] = append(q.queue[class], turn{line: n})
	}
}

// release frees a place and returns the tickets that may run now.
func (q *scheduler) release(k queueKey) []ticket {
	q.mu.Lock()
	defer q.mu.Unlock()
	class := k.class()
	q.running[class]--
	if k.serial() {
		n := q.lines[k]
		n.running--
		if n.running == 0 && len(n.waiting) == 0 {
			delete(q.lines, k)
		}
		q.queueLocked(n)
	}
	return q.nextLocked(class)
}

// nextLocked takes places for the first tickets of one class that can run.
func (q *scheduler) nextLocked(class int) []ticket {
	var next []ticket
	for len(q.queue[class]) > 0 && q.running[class] < q.max[class] {
		t := q.queue[class][0]
		q.queue[class] = q.queue[class][1:]
		if n := t.line; n != nil {
			n.queued = false
			if q.holds > 0 || !n.ready() {
				continue // a run was resumed, or tickets may follow
			}
			t.ticket, n.waiting = n.waiting[0], n.waiting[1:]
			n.running++
		}
		q.running[class]++
		q.waiting--
		next = append(next, t.ticket)
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
	look := func(s *ticket) { // the first ticket of a list is its oldest, or near to it
		if oldest.IsZero() || s.since.Before(oldest) {
			oldest = s.since
		}
	}
	for class := range q.queue {
		i := slices.IndexFunc(q.queue[class], func(t turn) bool { return t.line == nil })
		if i >= 0 {
			look(&q.queue[class][i].ticket)
		}
	}
	for _, n := range q.lines {
		if len(n.waiting) > 0 {
			look(&n.waiting[0])
		}
	}
	return oldest
}

// length returns the number of waiting tickets.
func (q *scheduler) length() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.waiting
}
