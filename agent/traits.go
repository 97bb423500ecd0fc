package agent

import (
	"time"

	"github.com/a2aproject/a2a-go/v2/a2asrv"
)

// Traits say what the hub may do with the runs of an agent. The zero Traits are
// the careful choice: runs are at most once, and tasks run side by side.
type Traits struct {
	// Idempotent runs may be repeated after a crash, at most three times, as long as
	// nobody was told more than SUBMITTED and WORKING.
	Idempotent bool
	// Resumable runs go on from their last checkpoint: after a crash the message is
	// executed again, whatever was told and however often, and the new run adds to what
	// the earlier ones have yielded. A cancel request that was pending reaches the
	// executor's Cancel. See Checkpoint and UntilDrain.
	Resumable bool
	// Recalls keeps the last checkpoint of a task that has ended, for Call.Earlier and Call.Kept. It counts
	// for Resumable agents alone.
	Recalls bool
	// Away says that runs do nothing in the hub but wait for work that is done
	// elsewhere: they do not count towards its limit of runs, and a hub that ends does
	// not wait for them. It counts for Resumable agents alone.
	Away bool
	// Early runs may begin while the message that makes their task is being stored: the
	// executor promises that nothing it does before Call.Flush has returned nil counts in
	// the world. It counts for Away agents alone. If the message cannot be stored, the
	// context of the run ends, and nobody ever hears of the task.
	Early bool
	// Serial agents run the tasks of one context one after the other.
	Serial bool
	// Silence ends a run that yields nothing for so long. Zero means the hub's
	// default; negative means never.
	Silence time.Duration
	// NoMessage declares that the agent never answers with a bare message, so that
	// the hub need not wait for its first event before it shows the task.
	NoMessage bool
	// Confirms declares that the agent calls Call.Confirm for each message of a caller who
	// names extensions. The answer to such a caller does not begin before that, or before
	// the time is over that an agent has for its first event.
	Confirms bool
}

// Described is an executor that has Traits. An executor without this method has
// the zero Traits.
type Described interface {
	Traits() Traits
}

// With gives an executor traits.
func With(e a2asrv.AgentExecutor, t Traits) a2asrv.AgentExecutor {
	return described{e, t}
}

type described struct {
	a2asrv.AgentExecutor
	traits Traits
}

// Traits implements Described.
func (d described) Traits() Traits { return d.traits }

// TraitsOf returns the traits of e.
func TraitsOf(e a2asrv.AgentExecutor) Traits {
	if d, ok := e.(Described); ok {
		return d.Traits()
	}
	return Traits{}
}
