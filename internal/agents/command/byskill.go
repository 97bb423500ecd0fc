package command

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2asrv"

	"github.com/parley-a2a/parley/agent"
	"github.com/parley-a2a/parley/internal/agents/taskruns"
)

// BySkill is an agent with a program for each of its skills. Skill ids are compared without
// regard to case.
type BySkill struct {
	// Skills lists the skill ids in the order of the card. Agents has the agent of each one.
	Skills []string
	Agents []*Agent
}

var (
	_ a2asrv.AgentExecutor = (*BySkill)(nil)
	_ agent.Described      = (*BySkill)(nil)
)

// Traits implements agent.Described.
func (b *BySkill) Traits() agent.Traits { return b.Agents[0].Traits() }

// Kind returns "command", like Agent.Kind.
func (b *BySkill) Kind() string { return b.Agents[0].Kind() }

// Execute implements a2asrv.AgentExecutor. It fails a task with several possible skills if
// neither the message nor the first one of its task names one.
func (b *BySkill) Execute(ctx context.Context, ec *a2asrv.ExecutorContext) iter.Seq2[a2a.Event, error] {
	skill := skillOf(ctx, ec)
	i := slices.IndexFunc(b.Skills, func(id string) bool { return strings.EqualFold(id, skill) })
	if i < 0 && skill == "" && len(b.Skills) == 1 {
		i = 0
	}
	if i >= 0 {
		return b.Agents[i].Execute(ctx, ec)
	}
	return func(yield func(a2a.Event, error) bool) {
		why := fmt.Sprintf("skill %q is not supported by this agent", skill)
		if skill == "" {
			why = "the message names no skill"
		}
		yield(status(ec, a2a.TaskStateFailed, why+"; there are: "+strings.Join(b.Skills, ", ")), nil)
	}
}

// Cancel implements a2asrv.AgentExecutor.
func (b *BySkill) Cancel(ctx context.Context, ec *a2asrv.ExecutorContext) iter.Seq2[a2a.Event, error] {
	for _, a := range b.Agents {
		if len(a.runs.Of(taskruns.KeyOf(ctx, ec.TaskID))) > 0 {
			return a.Cancel(ctx, ec)
		}
	}
	return b.Agents[0].Cancel(ctx, ec)
}

// skillOf returns the skill that a message names, or else the first one that its task names.
func skillOf(ctx context.Context, ec *a2asrv.ExecutorContext) string {
	if call := agent.CallFrom(ctx); call != nil && call.Skill != "" {
		return call.Skill
	}
	if ec.StoredTask == nil {
		return ""
	}
	for _, m := range ec.StoredTask.History {
		for _, name := range []string{"skill", "skillId", "skillHint"} {
			if id, ok := m.Metadata[name].(string); ok && id != "" {
				return id
			}
		}
	}
	return ""
}
