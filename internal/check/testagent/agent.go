package testagent

import (
	"context"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2asrv"

	"github.com/parley-a2a/parley/agent"
	"github.com/parley-a2a/parley/task"
)

// Name is the agent's name and the id of its only skill.
const Name task.Agent = "conformance"

// Card returns a new copy of the agent's card. The agent accepts every media type. The card has
// no interfaces: the hub adds its addresses.
func Card() *a2a.AgentCard {
	const description = "Performs the scenarios of the public conformance kits of A2A, by the beginning of message ids and texts."
	modes := []string{plainText, "application/json", "*/*"}
	return &a2a.AgentCard{
		Name:               string(Name),
		Description:        description,
		Version:            "1.0.0",
		Capabilities:       a2a.AgentCapabilities{Streaming: true},
		DefaultInputModes:  modes,
		DefaultOutputModes: modes,
		Skills: []a2a.AgentSkill{{
			ID:          string(Name),
			Name:        "Conformance",
			Description: description,
			Tags:        []string{"conformance", "test"},
			Examples:    []string{"tck-complete-task", "tck-artifact-text", "tck-multi-turn"},
		}},
	}
}

// Executor returns the agent. It confirms the cancellation of a task immediately.
func Executor() a2asrv.AgentExecutor {
	return agent.With(agent.Func(execute), agent.Traits{AfterCrash: agent.Repeat})
}

// execute runs the scenario that the message requests.
func execute(ctx context.Context, ec *a2asrv.ExecutorContext, yield func(a2a.Event, error) bool) {
	s := &execution{ctx, ec, yield}
	for _, do := range choose(ec) {
		if !do(s) {
			return
		}
	}
}
