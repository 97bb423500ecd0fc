package httpfront

import (
	"slices"
	"strings"
	"sync"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/auth"
	"github.com/parley-a2a/parley/internal/engine"
)

// union caches the card of the default agent with the skills of all agents, as long as their
// cards stay the same, because documents are cached by card.
type union struct {
	mu   sync.Mutex // guards the fields below
	of   []*a2a.AgentCard
	card *a2a.AgentCard
}

// get returns c with the skills of the agents.
func (u *union) get(c *a2a.AgentCard, agents []engine.Agent) *a2a.AgentCard {
	of := []*a2a.AgentCard{c}
	for i := range agents {
		if !agents[i].ByName {
			of = append(of, agents[i].Card)
		}
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	if !slices.Equal(u.of, of) {
		u.of, u.card = of, withSkills(c, of[1:])
	}
	return u.card
}

// withSkills returns c with its own skills and those of others. Of several skills with the same
// id, compared without regard to case, the first stays.
func withSkills(c *a2a.AgentCard, others []*a2a.AgentCard) *a2a.AgentCard {
	all := *c
	all.Skills = slices.Clone(c.Skills)
	seen := make(map[string]bool)
	for i := range c.Skills {
		seen[strings.ToLower(c.Skills[i].ID)] = true
	}
	for _, other := range others {
		for _, s := range other.Skills {
			id := strings.ToLower(s.ID)
			if seen[id] {
				continue
			}
			seen[id] = true
			if len(s.InputModes) == 0 {
				s.InputModes = other.DefaultInputModes
			}
			if len(s.OutputModes) == 0 {
				s.OutputModes = other.DefaultOutputModes
			}
			all.Skills = append(all.Skills, s)
		}
	}
	return &all
}

// withAllSkills replaces the card of a, which represents the hub as a whole, by one with the
// skills of all agents, or of those visible to p. It reports whether the card is for p only.
func (f *Front) withAllSkills(a *engine.Agent, p *auth.Principal, extended bool) (personal bool) {
	if !f.cfg.AllSkills {
		return false
	}
	e := f.cfg.Engine
	if p != nil && e.Policy() != nil {
		agents := e.AgentsFor(p)
		var others []*a2a.AgentCard
		for i := range agents {
			if !agents[i].ByName {
				others = append(others, agents[i].Card)
			}
		}
		a.Card, personal = withSkills(a.Card, others), true
	} else {
		a.Card = f.union.get(a.Card, e.Agents())
	}
	if extended && a.Extended != nil {
		a.Extended = withSkills(a.Extended, []*a2a.AgentCard{a.Card})
	}
	return personal
}
