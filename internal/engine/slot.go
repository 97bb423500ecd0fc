package engine

import (
	"fmt"
	"sync"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/internal/apierror"
	"github.com/parley-a2a/parley/internal/op"
	"github.com/parley-a2a/parley/internal/task"
)

// slot holds the resources that a message reserves before it is stored: a count among its
// caller's tasks at work, the admission by the gate, and a place for a run. release frees those
// that were neither kept nor handed over, and may be called again.
type slot struct {
	engine *Engine
	ref    ref
	key    queueKey
	// live is the task of a further message; nil for a new task.
	live              *live
	counted, reserved bool
	undo              func()
}

// count reserves a count among the tasks of the caller.
func (s *slot) count() error {
	others, err := s.engine.tasksElsewhere(s.ref.owner)
	if err == nil {
		s.counted, err = s.engine.callerTasks.reserve(s.ref, others)
	}
	return err
}

// callGate calls the gate for a message that creates a task of an agent.
func (s *slot) callGate(name task.Agent, r *op.Send) (err error) {
	if g := s.engine.cfg.Gate; g != nil {
		s.undo, err = g.Admit(name, r)
	}
	return err
}

// reserveRun reserves a place for a run of an agent. It reports whether one was free.
func (s *slot) reserveRun(name task.Agent) bool {
	s.reserved = !s.engine.IsPaused(name) && s.engine.scheduler.tryAcquire(s.key)
	return s.reserved
}

// handOver passes the place to the run.
func (s *slot) handOver() queueKey {
	s.reserved = false
	return s.key
}

// keep makes release keep all resources but the place for a run: the task, which is stored,
// owns them.
func (s *slot) keep() { s.counted, s.undo = false, nil }

func (s *slot) release() {
	e := s.engine
	if s.reserved {
		s.reserved = false
		e.launchAll(e.scheduler.release(s.key))
	}
	if s.undo != nil {
		s.undo()
	}
	if s.counted {
		atWork := false
		if s.live != nil {
			h := s.live.snapshot()
			atWork = e.atWork(&h)
		}
		e.callerTasks.note(s.ref, atWork)
	}
	s.keep()
}

// full reports whether the queue of tasks has reached its limit.
func (e *Engine) full() bool { return e.scheduler.length()+e.pauses.length() >= e.cfg.MaxQueued }

// retryTasks is the delay after which a refused caller may try again to have a task run.
const retryTasks = 5 * time.Second

// callerTasks holds the tasks of each caller that this process runs or has queued. A nil
// callerTasks does not limit them.
type callerTasks struct {
	// each is the largest number of tasks that one caller may have.
	each int

	mu     sync.Mutex // guards the field below
	owners map[task.Owner]map[a2a.TaskID]struct{}
}

func newCallerTasks(each int) *callerTasks {
	if each <= 0 {
		return nil
	}
	return &callerTasks{each: each, owners: make(map[task.Owner]map[a2a.TaskID]struct{})}
}

// reserve reserves a place for a task that is about to be at work, while other hubs have some tasks
// of the caller. It reports whether the task was added. If the caller has too many tasks, it returns
// an error.
func (b *callerTasks) reserve(k ref, others int) (added bool, err error) {
	if b == nil {
		return false, nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if _, there := b.owners[k.owner][k.id]; there {
		return false, nil
	}
	if len(b.owners[k.owner])+others >= b.each {
		refusal := apierror.New(apierror.ErrExhausted, "this caller has %d open tasks, which is the limit", b.each)
		refusal.RetryAfter = retryTasks
		return false, refusal
	}
	b.addLocked(k)
	return true, nil
}

// note records whether a task is at work.
func (b *callerTasks) note(k ref, atWork bool) {
	if b == nil {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if atWork {
		b.addLocked(k)
		return
	}
	if delete(b.owners[k.owner], k.id); len(b.owners[k.owner]) == 0 {
		delete(b.owners, k.owner)
	}
}

// tasksElsewhere returns the number of tasks of an owner that other hubs have at work, up to the
// limit.
func (e *Engine) tasksElsewhere(owner task.Owner) (int, error) {
	store, ok := e.store.(Heads)
	if e.callerTasks == nil || e.cfg.Peers == nil || !ok || !e.cfg.Peers.Live("") {
		return 0, nil
	}
	n, err := store.AtWork(e.ctx, owner, e.ownHolder(), e.callerTasks.each)
	if err != nil {
		return 0, fmt.Errorf("count tasks of other hubs: %w", err)
	}
	return n, nil
}

func (b *callerTasks) addLocked(k ref) {
	if b.owners[k.owner] == nil {
		b.owners[k.owner] = make(map[a2a.TaskID]struct{})
	}
	b.owners[k.owner][k.id] = struct{}{}
}

// atWork reports whether this process runs a task or has it queued. A task that waits for its
// caller is not at work.
func (e *Engine) atWork(h *task.Head) bool {
	return h.Run.Dispatch != task.Idle && h.Run.Holder == e.ownHolder() && !h.State.Terminal()
}

// retryStreams is the delay after which a refused caller may try again to open a stream.
const retryStreams = 5 * time.Second

// quota counts the open streams. A negative limit means no limit.
type quota struct {
	each, total int

	mu   sync.Mutex // guards the fields below
	open int
	by   map[task.Owner]int
}

// acquire counts a stream of owner, or returns an error if there are too many.
func (q *quota) acquire(owner task.Owner) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.each >= 0 && q.by[owner] >= q.each {
		return tooMany("too many open streams of this caller")
	}
	if q.total >= 0 && q.open >= q.total {
		return tooMany("too many open streams")
	}
	if q.by == nil {
		q.by = make(map[task.Owner]int)
	}
	q.by[owner]++
	q.open++
	return nil
}

// release releases a stream counted by take.
func (q *quota) release(owner task.Owner) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.open--
	if q.by[owner]--; q.by[owner] == 0 {
		delete(q.by, owner)
	}
}

func tooMany(message string) error {
	return &apierror.Error{Err: apierror.ErrExhausted, Message: message, RetryAfter: retryStreams}
}
