package server

import (
	"context"
	"errors"
	"strings"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/auth"
	"github.com/parley-a2a/parley/internal/agents/model"
	"github.com/parley-a2a/parley/internal/agents/scripted"
	"github.com/parley-a2a/parley/internal/engine"
	"github.com/parley-a2a/parley/internal/inbox/question"
	"github.com/parley-a2a/parley/internal/trust"
	"github.com/parley-a2a/parley/task"
)

// questions looks up the questions that agents ask models of the hub.
type questions struct {
	engine *engine.Engine
	trust  *trust.Registry
	desk   *question.PolicyResponder
}

var _ model.Gate = questions{}

// Question implements model.Gate. The model answers alone if the agent is trusted to act with
// the skill, or if the configuration leaves the agent's questions to its callers.
func (g questions) Question(ctx context.Context, id a2a.TaskID) (*model.Question, error) {
	q, err := g.engine.Open(ctx, &question.Question{Owner: owner(ctx), Task: id})
	if errors.Is(err, a2a.ErrTaskNotFound) || err == nil && q == nil {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	entry := g.trust.Level(ctx, trust.Subject(q.Agent))
	return &model.Question{
		Agent: q.Agent, Task: q.Task, Skill: q.Skill, Text: q.Text, Works: q.Works,
		Alone: g.suspended(q.Agent) || entry.Allows(q.Skill) && (q.Works || strings.TrimSpace(q.Text) != ""),
	}, nil
}

// limit is model.Agent.Limit: it applies the limits of questions that the hub answers to those
// that a model answers alone.
func (g questions) limit(ctx context.Context, asked *model.Question, answer string) (model.Loop, error) {
	q, err := g.engine.Waiting(ctx, &question.Question{Owner: owner(ctx), Task: asked.Task})
	if err != nil || q == nil {
		return model.Loop{}, err
	}
	if q.Turns, err = g.engine.Exchanges(ctx, q); err != nil {
		return model.Loop{}, err
	}
	reply := g.desk.Limit(q, answer)
	if reply.Break == "" {
		return model.Loop{}, nil
	}
	if err := g.engine.Answer(ctx, q, &reply); err != nil && !errors.Is(err, question.ErrAnswered) {
		return model.Loop{}, err
	}
	return model.Loop{Rounds: reply.Rounds, Repeats: reply.Repeats}, nil
}

// suspended reports whether the configuration leaves the questions of an agent to its callers.
func (g questions) suspended(name task.Agent) bool {
	p, ok := g.desk.Policies[name]
	if !ok {
		p = g.desk.Default
	}
	return p == question.Suspend
}

func owner(ctx context.Context) task.Owner { return auth.PrincipalFrom(ctx).Owner() }

func surfacedOf(ctx context.Context, s *model.Surfaced) *question.Surfaced {
	return &question.Surfaced{
		Owner: owner(ctx), Task: s.Asker, Message: s.ID, Agent: s.Agent, Skill: s.Skill, Text: s.Text, Draft: s.Draft,
	}
}

func (g questions) Surface(ctx context.Context, s *model.Surfaced) error {
	return g.desk.Surface(ctx, surfacedOf(ctx, s))
}

func (g questions) Withdraw(ctx context.Context, s *model.Surfaced) error {
	return g.desk.Withdraw(ctx, surfacedOf(ctx, s))
}

func (h *Hub) responder() *question.PolicyResponder {
	d := h.cfg.Responder()
	d.Inbox, d.Trust = h.trust.inbox, h.trust.registry
	return d
}

// questionAgents returns the agent that answers questions by a script, or none without a script.
func (h *Hub) questionAgents() ([]engine.Agent, error) {
	q := &h.cfg.Questions
	if q.Script == "" {
		return nil, nil
	}
	script, err := scripted.Load(q.Script)
	if err != nil {
		return nil, err
	}
	plain := []string{"text/plain"}
	card := &a2a.AgentCard{
		Name: q.AnsweringAgent, Description: "Answers the questions of other agents by a script.", Version: "1.0.0",
		Capabilities: a2a.AgentCapabilities{Streaming: true}, DefaultInputModes: plain, DefaultOutputModes: plain,
		Skills: []a2a.AgentSkill{{
			ID: q.AnsweringAgent, Name: q.AnsweringAgent, Description: "Answers questions by a script.", Tags: []string{"answers"},
		}},
	}
	return []engine.Agent{{Name: task.Agent(q.AnsweringAgent), Card: card, Executor: script}}, nil
}
