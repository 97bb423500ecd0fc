package engine

import (
	"github.com/parley-a2a/parley/internal/op"
	"github.com/parley-a2a/parley/task"
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
