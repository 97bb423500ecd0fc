package engine

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/internal/apierror"
	"github.com/parley-a2a/parley/internal/op"
	"github.com/parley-a2a/parley/internal/suggest"
	"github.com/parley-a2a/parley/task"
)

// errNoAgent is what a caller gets for an agent that is not there: the same as for
// a task that is not there, so that names cannot be probed.
func errNoAgent() error { return apierror.New(a2a.ErrTaskNotFound, "no such agent or task") }

// target returns the name that a call routes to, or the empty name.
func target(t *op.Target) (task.Agent, error) {
	if t.Agent != "" && t.Tenant != "" && string(t.Agent) != t.Tenant {
		return "", apierror.Field(a2a.ErrInvalidParams, "tenant", "%q is not the %q of the path", clip(t.Tenant), clip(string(t.Agent)))
	}
	if t.Agent != "" {
		return t.Agent, nil
	}
	return task.Agent(t.Tenant), nil
}

// scope returns the agent whose tasks a call is about, if the caller may do there what the
// call needs; empty means every agent.
func (e *Engine) scope(c *op.Caller, t *op.Target, n need) (task.Agent, error) {
	name, err := target(t)
	if err != nil || name == "" {
		return "", err
	}
	if err := e.permit(c, n, name); err != nil {
		return "", err
	}
	if e.agent(name) == nil {
		return "", errNoAgent()
	}
	return name, nil
}

// resolve returns the agent for a new task that the caller may begin: the one that is named,
// else one that has the skill, else the default one.
func (e *Engine) resolve(c *op.Caller, r *op.Send) (*Agent, error) {
	if a, err := e.named(c, r); a != nil || err != nil {
		return a, err
	}
	agents, err := e.having(c, r)
	if err != nil {
		return nil, err
	}
	return e.choose(r, agents), nil
}

// candidates returns the agents that a new task may be for, at least one. The caller
// does not change the list.
func (e *Engine) candidates(c *op.Caller, r *op.Send) ([]*Agent, error) {
	if a, err := e.named(c, r); a != nil || err != nil {
		return []*Agent{a}, err
	}
	return e.having(c, r)
}

// named returns the agent that r names, or the default one. It returns nil if r names a
// skill alone.
func (e *Engine) named(c *op.Caller, r *op.Send) (*Agent, error) {
	name, err := target(&r.Target)
	skill := r.Message.Skill
	if err != nil || name == "" && skill != "" {
		return nil, err
	}
	a := e.agent(name)
	if err := e.permitBegin(c, r, name, a); err != nil {
		return nil, err
	}
	switch {
	case a == nil:
		return nil, errNoAgent()
	case skill != "" && !hasSkill(a, skill):
		return nil, unknownSkill(skill, skillNames(nil, a))
	}
	return a, nil
}

// having returns the agents that have the skill of r, at least one, with which the caller
// may begin a task.
func (e *Engine) having(c *op.Caller, r *op.Send) ([]*Agent, error) {
	agents := e.agents.having(r.Message.Skill)
	if e.cfg.Policy != nil {
		var err error
		if agents, err = e.begun(c, r, agents); len(agents) == 0 && err != nil {
			return nil, err
		}
	}
	if len(agents) > 0 {
		return agents, nil
	}
	var all []string
	for _, a := range e.agents.all() {
		if e.cfg.Policy.Sees(c.Principal, a.Name) {
			all = skillNames(all, a)
		}
	}
	return nil, unknownSkill(r.Message.Skill, all)
}

// choose returns one of the candidates: the one that was chosen for r before, if any.
func (e *Engine) choose(r *op.Send, agents []*Agent) *Agent {
	chosen := r.Chosen
	if chosen == "" && len(agents) > 1 && e.cfg.Chooser != nil {
		names := make([]task.Agent, len(agents))
		for i, a := range agents {
			names[i] = a.Name
		}
		chosen = e.cfg.Chooser.Choose(r.Message.Skill, names)
	}
	for _, a := range agents {
		if a.Name == chosen {
			return a
		}
	}
	return agents[0]
}

// maxNamed is how many skills an error names.
const maxNamed = 20

func unknownSkill(skill string, have []string) error {
	have = each(have)
	meant, rest := "", ""
	if nearest := suggest.Nearest(clip(skill), have); nearest != "" {
		meant = "; did you mean " + strconv.Quote(clip(nearest)) + "?"
	}
	if n := len(have) - maxNamed; n > 0 {
		have, rest = have[:maxNamed], fmt.Sprintf(" and %d more", n)
	}
	for i := range have {
		have[i] = clip(have[i])
	}
	if len(have) == 0 {
		have = []string{"none"}
	}
	return apierror.Field(a2a.ErrInvalidParams, "metadata.skill", "no agent here has the skill %q%s; there are: %s%s",
		clip(skill), meant, strings.Join(have, ", "), rest)
}

// each returns the texts of a list, each once.
func each(list []string) []string {
	seen := make(map[string]bool, len(list))
	return slices.DeleteFunc(list, func(s string) bool {
		was := seen[s]
		seen[s] = true
		return was
	})
}

// clip keeps what a caller wrote from filling an error message.
func clip(s string) string {
	const most = 64
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "…"
}

// hasSkill reports whether a has the skill; ids ignore case. An agent that
// declares no skills takes every message that names it.
func hasSkill(a *Agent, skill string) bool {
	return len(a.Card.Skills) == 0 || skillNamed(a, skill) != nil
}

// Offers reports whether an agent declares a skill, or any agent if name is empty.
func (e *Engine) Offers(name task.Agent, skill string) bool {
	if name == "" {
		return len(e.agents.having(skill)) > 0
	}
	a := e.agent(name)
	return a != nil && skillNamed(a, skill) != nil
}

// skillNames appends the ids of the skills of a.
func skillNames(ids []string, a *Agent) []string {
	for i := range a.Card.Skills {
		ids = append(ids, a.Card.Skills[i].ID)
	}
	return ids
}
