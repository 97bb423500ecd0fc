package queue

import (
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/task"
)

// Backlog is the state of the tasks of an agent that its workers perform, as far as this hub has
// them.
type Backlog struct {
	// Waiting is the number of tasks that no worker has claimed, Claimed that of tasks which a
	// worker has.
	Waiting, Claimed int
	// Oldest is the time at which the oldest waiting task was first published; zero without one.
	Oldest time.Time
	// Owner and Task are those of the claimed task that was published first; empty without one.
	Owner task.Owner
	Task  a2a.TaskID

	first int64 // when it was published, in Unix milliseconds
}

// Backlogs returns the backlogs of agents with open tasks, by their names in the hub. It asks no
// broker.
func (d *Dispatcher) Backlogs() map[task.Agent]Backlog {
	all := make(map[task.Agent]Backlog)
	d.mu.Lock()
	defer d.mu.Unlock()
	for k, r := range d.runs {
		b := all[r.call.Agent]
		if r.waiting.Load() == claimedMark {
			b.Claimed++
			if at := r.queued.Load(); b.Task == "" || at < b.first {
				b.Owner, b.Task, b.first = k.owner, k.id, at
			}
		} else {
			b.wait(r.queued.Load())
		}
		all[r.call.Agent] = b
	}
	for _, at := range d.resting {
		b := all[at.agent]
		b.wait(at.queued)
		all[at.agent] = b
	}
	return all
}

// wait adds a waiting task that was published at a time in Unix milliseconds; zero if it was not
// yet.
func (b *Backlog) wait(at int64) {
	b.Waiting++
	if at == 0 {
		return
	}
	if t := time.UnixMilli(at); b.Oldest.IsZero() || t.Before(b.Oldest) {
		b.Oldest = t
	}
}
