package engine

import (
	"github.com/parley-a2a/parley/internal/op"
	"github.com/parley-a2a/parley/task"
)

// slot is the room that a message takes before it is stored: among the tasks of its caller
// that are at work, at the gate, and for a run. release returns all of it that was neither
// kept nor handed over, and may be called again.
type slot struct {
	engine *Engine
	ref    ref
	lane   lane
	// live is the task of a further message; nil for a new task.
	live             *live
	counted, entered bool
	undo             func()
}

// count takes room among the tasks of the caller.
func (s *slot) count() (err error) {
	s.counted, err = s.engine.busy.take(s.ref)
	return err
}

// pass asks the gate about a message for a new task of an agent.
func (s *slot) pass(name task.Agent, r *op.Send) (err error) {
	if g := s.engine.cfg.Gate; g != nil {
		s.undo, err = g.Admit(name, r)
	}
	return err
}

// enter takes room for a run of an agent, and reports whether there was some.
func (s *slot) enter(name task.Agent) bool {
	s.entered = !s.engine.IsPaused(name) && s.engine.scheduler.tryAcquire(s.lane)
	return s.entered
}

// handOver leaves the room for a run to the run.
func (s *slot) handOver() lane {
	s.entered = false
	return s.lane
}

// keep leaves all room but that for a run to the task, which is stored.
func (s *slot) keep() { s.counted, s.undo = false, nil }

func (s *slot) release() {
	e := s.engine
	if s.entered {
		s.entered = false
		e.launchAll(e.scheduler.release(s.lane))
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
		e.busy.note(s.ref, atWork)
	}
	s.keep()
}

// full reports whether no further task may wait for a run.
func (e *Engine) full() bool { return e.scheduler.length()+e.pauses.length() >= e.cfg.MaxQueued }
