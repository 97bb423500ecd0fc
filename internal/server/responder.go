package server

import (
	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/inbox/question"
	"github.com/parley-a2a/parley/internal/agents/scripted"
	"github.com/parley-a2a/parley/internal/engine"
	"github.com/parley-a2a/parley/task"
)

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
