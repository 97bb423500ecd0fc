package agent

import (
	"time"

	"github.com/a2aproject/a2a-go/v2/a2asrv"
)

// Traits declare how the hub may run an agent. The zero Traits are the safest choice: each run
// is executed at most once, and tasks run concurrently.
type Traits struct {
	// Idempotent declares that the hub may repeat runs after a crash, at most three times. It
	// repeats a run only while readers have received no state but SUBMITTED and WORKING.
	Idempotent bool
	// Again declares that an Idempotent run may be repeated even if readers have received output. The
	// task keeps that output, and the new run should add artifacts of its own.
	Again bool
	// Pure declares that a run has no effect but its events. The hub may begin it before the message
	// that creates its task is durable, and stores an answer that is complete at once together with
	// the message; no reader sees either before. If they cannot be stored, the context of the run
	// ends, and the task never exists. It applies only to agents with Idempotent and NoMessage, and
	// only if the caller waits for the answer.
	Pure bool
	// Resumable declares that runs continue from their last checkpoint. After a crash the hub
	// executes the message again, whatever events readers have received and however often it
	// crashed; the new run adds to the events of the earlier ones. A pending cancel request
	// reaches the executor's Cancel. See Checkpoint and UntilDrain.
	Resumable bool
	// Recalls keeps the last checkpoint of an ended task, for Call.EarlierCheckpoint and
	// Call.CheckpointOf. It applies only to Resumable agents.
	Recalls bool
	// Away declares that runs only wait for work that is done outside the hub. They do not
	// count towards the hub's limit of runs, and a hub that stops does not wait for them. They
	// may end with ErrResting. It applies only to Resumable agents.
	Away bool
	// Early lets runs begin while the hub still stores the message that creates their task. The
	// executor promises that it causes no external effect before Call.Flush has returned nil.
	// If the message cannot be stored, the context of the run ends, and the task never exists
	// for any reader. It applies only to Away agents.
	Early bool
	// Serial agents run the tasks of one context one after the other, in the order in which the hub has
	// accepted them, also after a restart. A task that waits for its caller lets others pass.
	Serial bool
	// Silence is the time after which the hub ends a run that yields nothing. Zero means the
	// hub's default; negative means never.
	Silence time.Duration
	// NoMessage declares that the agent never answers with a bare message, so that
	// the hub need not wait for its first event before it shows the task.
	NoMessage bool
	// Confirms declares that the agent calls Call.Confirm for each message whose caller names
	// extensions. The hub delays its answer to such a caller until that call, or until the time
	// that agents have for their first event is over.
	Confirms bool
}

// Described is an executor that has Traits. An executor without this method has
// the zero Traits.
type Described interface {
	Traits() Traits
}

// With returns e with the given traits.
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
