package engine

import (
	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/internal/task"
)

// Blockage says what holds up the next run of a task in this process.
type Blockage struct {
	By BlockedBy
	// Ahead is the number of earlier messages of the context that run first; for BlockedByContext only.
	Ahead int
	// Behind is the task of the context that runs; for BlockedByContext only. It is nil if the run has not
	// begun yet.
	Behind *task.Head
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
	if behind := e.scheduler.blockages(asked, found); len(behind) > 0 {
		for k, h := range e.running(behind) {
			for _, waits := range behind[k] {
				b := found[waits]
				b.Behind = h
				found[waits] = b
			}
		}
	}
	return found
}

// running returns the tasks that run with the keys.
func (e *Engine) running(of map[queueKey][]task.Key) map[queueKey]*task.Head {
	all := make(map[queueKey]*task.Head)
	for i := range e.live.shards {
		for _, l := range e.live.shards[i].all() {
			l.mu.Lock()
			if l.run != nil && of[l.run.key] != nil {
				h := l.head
				all[l.run.key] = &h
			}
			l.mu.Unlock()
		}
	}
	return all
}

// Loaded returns the head of a task if this process has it in memory, as it does while the task runs here; nil
// otherwise.
func (e *Engine) Loaded(owner task.Owner, id a2a.TaskID) *task.Head {
	l := e.live.hold(ref{owner, id})
	if l == nil {
		return nil
	}
	defer e.live.release(l)
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.loaded {
		return nil
	}
	h := l.head
	return &h
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

// blockages is like that of pauses, for the tasks that wait for a run. It returns those that wait for others of
// their contexts.
func (q *scheduler) blockages(asked map[task.Key]bool, found map[task.Key]Blockage) map[queueKey][]task.Key {
	q.mu.Lock()
	defer q.mu.Unlock()
	behind := make(map[queueKey][]task.Key)
	for k, n := range q.lines {
		for i := range n.waiting {
			s := &n.waiting[i]
			if !asked[s.at.task] {
				continue
			}
			delete(asked, s.at.task)
			class := s.key.class()
			switch ahead := i + n.running; {
			case ahead > 0:
				found[s.at.task] = Blockage{By: BlockedByContext, Ahead: ahead}
				behind[k] = append(behind[k], s.at.task)
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
	return behind
}
