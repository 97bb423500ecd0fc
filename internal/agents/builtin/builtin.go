// Package builtin provides the agents that every hub has by default, so that the first message
// gets an answer.
//
// There are five of them, each with one skill whose id is the agent's name:
//
//   - echo streams the text of the message back, word by word, as chunks of one artifact.
//     Joined, the chunks are the text exactly. It is the default agent.
//   - clock answers with the time as structured data.
//   - interview asks a number of questions, one per turn, and ends with an artifact of the
//     answers.
//   - slow works for a number of seconds, reports its progress, and can be canceled at any
//     moment.
//   - report creates two named artifacts, a text and an image.
//
// # Guarantees
//
// Each agent writes its answer to an artifact and to the message of the final status, for
// callers that read only one of them. None answers with a bare message. All but interview
// declare themselves idempotent: they have no external effect. Interview keeps no state between
// turns; it uses the history of the task.
//
// # Non-guarantees
//
// The wording of questions, progress and reports may change. The images are small and plain.
package builtin

import (
	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2asrv"

	"github.com/parley-a2a/parley/agent"
	"github.com/parley-a2a/parley/task"
)

// Agent is a built-in agent, ready for registration at a hub.
type Agent struct {
	// Name is the agent's name and the id of its only skill.
	Name task.Agent
	// Card describes the agent. It has no interfaces: the hub knows its addresses.
	Card *a2a.AgentCard
	// Executor performs the agent's tasks.
	Executor a2asrv.AgentExecutor
}

// Agents returns all built-in agents. The first one, echo, is intended as the default. The
// caller owns the cards.
func Agents() []Agent {
	once := agent.Traits{Pure: true, NoMessage: true}
	turns := agent.Traits{NoMessage: true}
	return []Agent{
		{"echo", echoCard(), agent.With(agent.Func(echo), once)},
		{"clock", clockCard(), agent.With(agent.Func(clock), once)},
		{"interview", interviewCard(), agent.With(agent.Func(interview), turns)},
		{"slow", slowCard(), agent.With(agent.Func(slow), once)},
		{"report", reportCard(), agent.With(agent.Func(report), once)},
	}
}

// yieldFunc receives the events of a run.
type yieldFunc = func(a2a.Event, error) bool
