// Package builtin is the agents that every hub has from the start, so that the
// first message gets an answer.
//
// There are five of them, each with one skill whose id is the agent's name:
//
//   - echo streams the text of the message back, word by word, as chunks of one
//     artifact. Joined, the chunks are the text exactly. It is the default agent.
//   - clock answers with the time as structured data.
//   - interview asks a number of questions, one per turn, and ends with an artifact
//     of the answers.
//   - slow works for a number of seconds, tells its progress, and can be canceled at
//     any moment.
//   - report makes two named artifacts, a text and an image.
//
// # Guarantees
//
// Each agent puts its answer into an artifact and into the message of the final
// status, for callers that read only one of them. None answers with a bare message.
// All but interview declare themselves idempotent: they have no effect in the world.
// Interview keeps nothing between turns; it works from the history of the task.
//
// # What it does not promise
//
// The wording of questions, progress and reports may change. The images are small
// and plain.
//
// # Concurrency
//
// The executors hold no state and are safe for concurrent use. They start no
// goroutines.
//
// # Testing
//
// An executor is tested by ranging over Execute with a context of its own; no hub is
// needed.
package builtin

import (
	"context"
	"iter"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2asrv"

	"github.com/parley-a2a/parley/agent"
	"github.com/parley-a2a/parley/task"
)

// Agent is a built-in agent, ready to be given to a hub.
type Agent struct {
	// Name is the agent's name and the id of its only skill.
	Name task.Agent
	// Card describes the agent. It has no interfaces: the hub knows its addresses.
	Card *a2a.AgentCard
	// Executor performs the agent's tasks.
	Executor a2asrv.AgentExecutor
}

// Agents returns all built-in agents. The first one, echo, is meant as the default.
// The cards belong to the caller.
func Agents() []Agent {
	once := agent.Traits{Idempotent: true, NoMessage: true}
	turns := agent.Traits{NoMessage: true}
	return []Agent{
		{"echo", echoCard(), &executor{once, echo}},
		{"clock", clockCard(), &executor{once, clock}},
		{"interview", interviewCard(), &executor{turns, interview}},
		{"slow", slowCard(), &executor{once, slow}},
		{"report", reportCard(), &executor{once, report}},
	}
}

// yieldFunc receives the events of a run.
type yieldFunc = func(a2a.Event, error) bool

// executor makes an AgentExecutor of a function.
type executor struct {
	traits agent.Traits
	run    func(context.Context, *a2asrv.ExecutorContext, yieldFunc)
}

var (
	_ a2asrv.AgentExecutor = (*executor)(nil)
	_ agent.Described      = (*executor)(nil)
)

// Traits implements agent.Described.
func (e *executor) Traits() agent.Traits { return e.traits }

// Execute implements a2asrv.AgentExecutor.
func (e *executor) Execute(ctx context.Context, ec *a2asrv.ExecutorContext) iter.Seq2[a2a.Event, error] {
	return func(yield func(a2a.Event, error) bool) { e.run(ctx, ec, yield) }
}

// Cancel implements a2asrv.AgentExecutor. It confirms at once: a run ends with its
// context, and there is nothing to clean up.
func (e *executor) Cancel(_ context.Context, ec *a2asrv.ExecutorContext) iter.Seq2[a2a.Event, error] {
	return func(yield func(a2a.Event, error) bool) {
		yield(status(ec, a2a.TaskStateCanceled), nil)
	}
}
