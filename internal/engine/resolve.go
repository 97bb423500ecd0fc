package engine

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/internal/apierror"
	textclip "github.com/parley-a2a/parley/internal/clip"
	"github.com/parley-a2a/parley/internal/op"
	"github.com/parley-a2a/parley/internal/suggest"
	"github.com/parley-a2a/parley/task"
)

// errNoAgent returns the error for an agent that does not exist. It is the same as for a task
// that does not exist, so that names cannot be probed.
func errNoAgent() error { return apierror.New(a2a.ErrTaskNotFound, "no such agent or task") }

// target returns the name of the agent that a call addresses, or the empty name.
func target(t *op.Target) (task.Agent, error) {
	if t.Agent != "" && t.Tenant != "" && string(t.Agent) != t.Tenant {
		return "", apierror.Field(a2a.ErrInvalidParams, "tenant", "%q is not the %q of the path", clip(t.Tenant), clip(string(t.Agent)))
	}
	if t.Agent != "" {
		return t.Agent, nil
	}
	return task.Agent(t.Tenant), nil
}

// scope returns the agent whose tasks a call is about, if the policy allows the call; the empty
// name means every agent.
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

// choose returns the agent for a new task, and keeps the choice: the agent that the message
// names, else one that has its skill, else the default one.
func (a *admission) choose() (*Agent, error) {
	if err := a.candidates(); err != nil {
		return nil, err
	}
	if a.choice == nil {
		a.choice = a.engine.pick(a.send.Message.Skill, a.agents)
	}
	return a.choice, nil
}

// candidates sets choice if the message names the agent of a new task or means the default one.
// If the message names only a skill, it sets agents, to at least one. It does so once.
func (a *admission) candidates() error {
	if a.choice != nil || a.agents != nil {
		return nil
	}
	name, err := target(&a.send.Target)
	switch {
	case err != nil:
	case name == "" && a.send.Message.Skill != "":
		a.agents, err = a.having()
	default:
		a.choice, err = a.named(name)
	}
	if errors.Is(err, errUnknownSkill) && a.send.Observe && a.engine.cfg.Policy == nil { // a policy hides agents
		if x := a.engine.agent(ObserverName); x != nil {
			a.choice, err = x, nil
		}
	}
	return err
}

// ObserverName is the name of the hidden agent that notifies the hub's owner of a message for a skill
// that no agent has (op.Send.Observe).
const ObserverName task.Agent = "parley.observer"

// named returns the agent with the given name, or the default one, if the caller may create a
// task with it.
func (a *admission) named(name task.Agent) (*Agent, error) {
	skill, x := a.send.Message.Skill, a.engine.agent(name)
	if err := a.permitCreate(name, x); err != nil {
		return nil, err
	}
	switch {
	case x == nil:
		return nil, errNoAgent()
	case skill != "" && !hasSkill(x, skill):
		return nil, unknownSkill(skill, skillNames(nil, x))
	}
	return x, nil
}

// having returns the agents that have the skill of the message and with which the caller may
// create a task; at least one. The caller does not change the slice.
func (a *admission) having() ([]*Agent, error) {
	e := a.engine
	agents := e.agents.having(a.send.Message.Skill)
	if e.cfg.Policy != nil {
		var err error
		if agents, err = a.permitted(agents); len(agents) == 0 && err != nil {
			return nil, err
		}
	}
	if len(agents) > 0 {
		return agents, nil
	}
	var all []string
	for _, x := range e.agents.all() {
		if !x.ByName && e.cfg.Policy.Sees(a.caller.Principal, x.Name) {
			all = skillNames(all, x)
		}
	}
	return nil, unknownSkill(a.send.Message.Skill, all)
}

// pick returns one of the agents that have a skill.
func (e *Engine) pick(skill string, agents []*Agent) *Agent {
	if len(agents) == 1 || e.cfg.Chooser == nil {
		return agents[0]
	}
	names := make([]task.Agent, len(agents))
	for i, x := range agents {
		names[i] = x.Name
	}
	chosen := e.cfg.Chooser.Choose(skill, names)
	for _, x := range agents {
		if x.Name == chosen {
			return x
		}
	}
	return agents[0]
}

// maxNamed limits the skills that an error lists.
const maxNamed = 20

// errUnknownSkill is the cause of the error of a message for a skill that no agent has.
var errUnknownSkill = fmt.Errorf("unknown skill: %w", a2a.ErrInvalidParams)

func unknownSkill(skill string, have []string) error {
	seen := make(map[string]bool, len(have))
	have = slices.DeleteFunc(have, func(s string) bool {
		was := seen[s]
		seen[s] = true
		return was
	})
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
	return apierror.Field(errUnknownSkill, "metadata.skill", "no agent here has the skill %q%s; there are: %s%s",
		clip(skill), meant, strings.Join(have, ", "), rest)
}

// clip shortens a caller's text for an error message.
func clip(s string) string { return textclip.Bytes(s, 64) }

// hasSkill reports whether a has the skill; ids ignore case. An agent that declares no skills
// accepts every message that names it.
func hasSkill(a *Agent, skill string) bool {
	return len(a.Card.Skills) == 0 || skillNamed(a, skill) != nil
}

// Offers reports whether an agent declares a skill, or whether any agent of the hub itself does if
// name is empty.
func (e *Engine) Offers(name task.Agent, skill string) bool {
	if name == "" {
		return e.agents.own(skill)
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
