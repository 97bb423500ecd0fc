package engine

import (
	"cmp"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/task"
)

// Listener hears what agents say, once it is durable. It is called concurrently and must
// return at once; what it is given it must not change.
type Listener interface {
	// Hears reports whether what an agent of a kind says is to be told: "remote", "queue"
	// and so on.
	Hears(kind string) bool
	// Said is told what a run has said, in its order.
	Said(s *Said)
}

// Said is what an agent has said in a task.
type Said struct {
	Agent task.Agent
	Owner task.Owner
	Task  a2a.TaskID
	// Correlation is the caller's id for the work, or the id of the task.
	Correlation string
	// Entries are statuses and artifacts.
	Entries []task.Entry
}

// tellSaid tells the listener what has become durable.
func (r *run) tellSaid(said []task.Entry) {
	l := r.engine.cfg.Listener
	if l == nil || len(said) == 0 || !l.Hears(r.agent.kind()) {
		return
	}
	correlation := string(r.live.ref.id)
	if rec, err := decodeCall(r.msg.call); err == nil {
		correlation = cmp.Or(r.ids(rec).Correlation, correlation)
	}
	l.Said(&Said{
		Agent: r.agent.Name, Owner: r.live.ref.owner, Task: r.live.ref.id, Correlation: correlation, Entries: said,
	})
}
