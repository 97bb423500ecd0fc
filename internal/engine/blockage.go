package engine

import (
	"slices"

	"github.com/parley-a2a/parley/task"
)

// Blockage says what holds up the next run of a task in this process.
type Blockage struct {
	By BlockedBy
	// Ahead is the number of earlier messages of the context that run first; for BlockedByContext only.
	Ahead int
}

// BlockedBy is the reason for which a run does not begin.
type BlockedBy uint8

// Reasons. The zero BlockedBy means that a run has begun, or that none is due here.
const (
	NotBlocked BlockedBy = iota
	// BlockedByPause: an operator has paused the agent.
	BlockedByPause
	// BlockedByContext: the agent takes the messages of a context one after the other.
	BlockedByContext
	// BlockedByLimit: as many runs as the hub allows are in progress.
	BlockedByLimit
	// BlockedByRecovery: the hub still reads the tasks of an earlier process.
	BlockedByRecovery
)

// AtOtherHub reports whether another hub on the same database has the task.
func (e *Engine) AtOtherHub(h *task.Head) bool { return e.elsewhere(h) }

// Blockage returns what holds up the next run of a task. It looks through all waiting tasks, so it is for
// people who ask about one task. It is safe for concurrent use.
func (e *Engine) Blockage(k task.Key) Blockage {
	if e.pauses.holds(k) {
		return Blockage{By: BlockedByPause}
	}
	return e.scheduler.blockage(k)
}

// holds reports whether a task waits for a paused agent.
func (p *pauses) holds(k task.Key) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, tickets := range p.agents {
		if slices.ContainsFunc(tickets, func(s ticket) bool { return s.at.task == k }) {
			return true
		}
	}
	return false
}

func (q *scheduler) blockage(k task.Key) Blockage {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, n := range q.lines {
		i := slices.IndexFunc(n.waiting, func(s ticket) bool { return s.at.task == k })
		if i < 0 {
			continue
		}
		class := n.waiting[i].key.class()
		switch ahead := i + n.running; {
		case ahead > 0:
			return Blockage{BlockedByContext, ahead}
		case q.running[class] >= q.max[class]:
			return Blockage{By: BlockedByLimit}
		case q.holds > 0:
			return Blockage{By: BlockedByRecovery}
		}
		return Blockage{}
	}
	for class := range q.queue {
		if slices.ContainsFunc(q.queue[class], func(t turn) bool { return t.line == nil && t.ticket.at.task == k }) {
			return Blockage{By: BlockedByLimit}
		}
	}
	return Blockage{}
}
