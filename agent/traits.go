package agent

import (
	"time"

	"github.com/a2aproject/a2a-go/v2/a2asrv"
)

// Traits declare how the hub may run an agent. The zero Traits are the safest choice: each run
// is executed at most once, and tasks run concurrently.
type Traits struct {
	// AfterCrash selects the treatment of a run that a crash has interrupted.
	AfterCrash AfterCrash
	// Pure declares that a run has no effect but its events, so that the hub may repeat it (Repeat).
	// The run may begin before the message that creates its task is durable, and the hub stores an
	// answer that is complete at once together with the message; no reader sees either before. If
	// they cannot be stored, the context of the run ends, and the task never exists. This is so only
	// for agents with NoMessage whose callers wait for the answer.
	Pure bool
	// Away declares that runs only wait for work that is done outside the hub, and that they can be
	// resumed (Resume). They do not count towards the hub's limit of runs, and a hub that stops
	// does not wait for them. A run may begin while the hub still
	// stores the message that creates its task: the executor must cause no effect before Call.Flush
	// has returned nil. If the message cannot be stored, the context of the run ends, and the task
	// never exists for any reader.
	Away bool
	// Serial agents run the tasks of one context one after the other, in the order in which the hub has
	// accepted them, also after a restart. A task that waits for its caller lets others pass.
	Serial bool
	// Silence is the time after which the hub ends a run that yields nothing. Zero means the
	// hub's default; negative means never.
	Silence time.Duration
	// NoMessage declares that the agent never answers with a bare message, so that
	// the hub need not wait for its first event before it shows the task.
	NoMessage bool
}

// AfterCrash is the hub's treatment of a run that the end of its process has interrupted.
type AfterCrash uint8

const (
	// Fail fails the task.
	Fail AfterCrash = iota
	// Repeat repeats the run, at most three times, while readers have received no state but
	// SUBMITTED and WORKING. Otherwise the task fails.
	Repeat
	// RepeatAfterOutput is like Repeat, even if readers have received output. The task keeps that
	// output, and the new run should add artifacts of its own.
	RepeatAfterOutput
	// Resume executes the message again with the last checkpoint, whatever events readers have
	// received and however often the hub crashed; the new run adds to the events of the earlier
	// ones. A pending cancel request reaches the executor's Cancel. See Call.Checkpoint and
	// Call.UntilDrain.
	Resume
)

// String returns a name such as "repeat".
func (a AfterCrash) String() string {
	return [...]string{"fail", "repeat", "repeat after output", "resume"}[a]
}

// Repeats reports whether a run may be repeated from its beginning. output states that readers
// have received output of it.
func (a AfterCrash) Repeats(output bool) bool {
	return a == RepeatAfterOutput || a == Repeat && !output
}

// Described is an executor that has Traits. An executor without this method has
// the zero Traits.
type Described interface {
	Traits() Traits
}

// With returns e with the given traits. If e is a Carder or Confirming, it remains so.
func With(e a2asrv.AgentExecutor, t Traits) a2asrv.AgentExecutor {
	return described{e, t}
}

type described struct {
	a2asrv.AgentExecutor
	traits Traits
}

// Traits implements Described.
func (d described) Traits() Traits { return d.traits }

// Unwrap returns the executor that With has wrapped.
func (d described) Unwrap() a2asrv.AgentExecutor { return d.AgentExecutor }

// TraitsOf returns the traits of e, with the AfterCrash that Pure and Away imply.
func TraitsOf(e a2asrv.AgentExecutor) Traits {
	d, ok := e.(Described)
	if !ok {
		return Traits{}
	}
	t := d.Traits()
	switch {
	case t.Away:
		t.AfterCrash = Resume
	case t.Pure:
		t.AfterCrash = max(t.AfterCrash, Repeat)
	}
	return t
}
