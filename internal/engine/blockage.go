package engine

import "github.com/parley-a2a/parley/internal/task"

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

// Blockages returns what holds up the next runs of tasks; tasks that nothing holds up are absent. It looks
// through all waiting tasks once, however many it is asked about, so it is for what people look at. It is
// safe for concurrent use.
func (e *Engine) Blockages(keys ...task.Key) map[task.Key]Blockage {
	found, asked := make(map[task.Key]Blockage), make(map[task.Key]bool, len(keys))
	for _, k := range keys {
		asked[k] = true
	}
	e.pauses.blockages(asked, found)
	e.scheduler.blockages(asked, found)
	return found
}

// blockages adds the tasks that wait for a paused agent to found, and removes them from asked.
func (p *pauses) blockages(asked map[task.Key]bool, found map[task.Key]Blockage) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, tickets := range p.agents {
		for i := range tickets {
			if k := tickets[i].at.task; asked[k] {
				delete(asked, k)
				found[k] = Blockage{By: BlockedByPause}
			}
		}
	}
}

// blockages is like that of pauses, for the tasks that wait for a run.
func (q *scheduler) blockages(asked map[task.Key]bool, found map[task.Key]Blockage) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, n := range q.lines {
		for i := range n.waiting {
			s := &n.waiting[i]
			if !asked[s.at.task] {
				continue
			}
			delete(asked, s.at.task)
			class := s.key.class()
			switch ahead := i + n.running; {
			case ahead > 0:
				found[s.at.task] = Blockage{BlockedByContext, ahead}
			case q.running[class] >= q.max[class]:
				found[s.at.task] = Blockage{By: BlockedByLimit}
			case q.holds > 0:
				found[s.at.task] = Blockage{By: BlockedByRecovery}
			}
		}
	}
	for class := range q.queue {
		for i := range q.queue[class] {
			t := &q.queue[class][i]
			if k := t.ticket.at.task; t.line == nil && asked[k] {
				delete(asked, k)
				found[k] = Blockage{By: BlockedByLimit}
			}
		}
	}
}
