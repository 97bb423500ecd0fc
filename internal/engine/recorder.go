package engine

import (
	"github.com/parley-a2a/parley/internal/op"
	"github.com/parley-a2a/parley/task"
)

// Recorder writes down what comes of some tasks when they have ended. Its methods are
// called concurrently and return at once. They keep nothing that they are called with.
type Recorder interface {
	// Mark returns what to remember about a message for a task of the agent until the task
	// has ended, or nil if nothing is to be written down. It is stored together with the
	// message, in place of what an earlier message of the task has left. A task that
	// begins with one is never answered with a bare message, because that is not in the
	// log.
	Mark(c *op.Caller, r *op.Send, agent task.Agent) []byte
	// Moved is called after each durable change of a task, in order, with the task's lock
	// held. marked says whether the change has brought a mark.
	Moved(head *task.Head, marked bool)
}

// markOf returns the mark of a message; nil if there is none.
func (e *Engine) markOf(c *op.Caller, r *op.Send, agent task.Agent) []byte {
	if e.recorder == nil {
		return nil
	}
	return e.recorder.Mark(c, r, agent)
}
