package engine

import (
	"strings"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/internal/fault"
	"github.com/parley-a2a/parley/internal/op"
	"github.com/parley-a2a/parley/task"
)

// errNoAgent is what a caller gets for an agent that is not there: the same as for
// a task that is not there, so that names cannot be probed.
func errNoAgent() error { return fault.New(a2a.ErrTaskNotFound, "no such agent or task") }

// target returns the name that a call routes to, or the empty name.
func target(t *op.Target) (task.Agent, error) {
	if t.Agent != "" && t.Tenant != "" && string(t.Agent) != t.Tenant {
		return "", fault.Field(a2a.ErrInvalidParams, "tenant", "%q is not the %q of the path", clip(t.Tenant), clip(string(t.Agent)))
	}
	if t.Agent != "" {
		return t.Agent, nil
	}
	return task.Agent(t.Tenant), nil
}

// scope returns the agent whose tasks a call is about; empty means every agent.
func (e *Engine) scope(t *op.Target) (task.Agent, error) {
	name, err := target(t)
	if err != nil || name == "" {
		return "", err
	}
	if _, ok := e.Agent(name); !ok {
		return "", errNoAgent()
	}
	return name, nil
}

// resolve returns the agent for a new task: the one that is named, else the first
// that has the skill, else the default one.
func (e *Engine) resolve(t *op.Target, skill string) (*Agent, error) {
	name, err := target(t)
	if err != nil {
		return nil, err
	}
	if name == "" && skill != "" {
		return e.bySkill(skill)
	}
	a := e.agent(name)
	if a == nil {
		return nil, errNoAgent()
	}
	if skill != "" && !hasSkill(a, skill) {
		return nil, unknownSkill(skill, skillNames(a))
	}
	return a, nil
}

func (e *Engine) bySkill(skill string) (*Agent, error) {
	var all []string
	for _, a := range e.Agents() {
		if hasSkill(&a, skill) {
			return &a, nil
		}
		all = append(all, skillNames(&a)...)
	}
	return nil, unknownSkill(skill, all)
}

func unknownSkill(skill string, have []string) error {
	return fault.Field(a2a.ErrInvalidParams, "metadata.skill", "no agent here has the skill %q; there are: %s",
		clip(skill), strings.Join(have, ", "))
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
// declares no skills takes every message.
func hasSkill(a *Agent, skill string) bool {
	for i := range a.Card.Skills {
		if strings.EqualFold(a.Card.Skills[i].ID, skill) {
			return true
		}
	}
	return len(a.Card.Skills) == 0
}

func skillNames(a *Agent) []string {
	var ids []string
	for i := range a.Card.Skills {
		ids = append(ids, a.Card.Skills[i].ID)
	}
	return ids
}

// accepts checks the media types of a message against what the agent, or the skill
// that was asked for, takes in.
func accepts(a *Agent, m *op.Message) error {
	modes := a.Card.DefaultInputModes
	for i := range a.Card.Skills {
		if s := &a.Card.Skills[i]; strings.EqualFold(s.ID, m.Skill) && len(s.InputModes) > 0 {
			modes = s.InputModes
		}
	}
	if len(modes) == 0 {
		return nil
	}
	for i, mt := range m.MediaTypes {
		if mt != "" && !accepted(modes, mt) {
			return fault.Field(a2a.ErrUnsupportedContentType, partField(i), "%q is not one of the media types that agent %q accepts: %s",
				clip(mt), a.Name, strings.Join(modes, ", "))
		}
	}
	return nil
}

// accepted matches a media type without its parameters; modes may be "*/*",
// "image/*" or exact.
func accepted(modes []string, mediaType string) bool {
	mediaType, _, _ = strings.Cut(mediaType, ";")
	mediaType = strings.ToLower(strings.TrimSpace(mediaType))
	kind, _, _ := strings.Cut(mediaType, "/")
	for _, m := range modes {
		m = strings.ToLower(strings.TrimSpace(m))
		if m == mediaType || m == "*/*" || m == "*" || m == "text" && mediaType == "text/plain" || m == kind+"/*" {
			return true
		}
	}
	return false
}
