package openaifront

import (
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/auth"
	"github.com/parley-a2a/parley/internal/apierror"
	"github.com/parley-a2a/parley/internal/engine"
	"github.com/parley-a2a/parley/internal/front/surface"
	"github.com/parley-a2a/parley/internal/suggest"
	"github.com/parley-a2a/parley/task"
)

// model is an agent, or one of its skills, in OpenAI's form.
type model struct {
	ID      string `json:"id"`
	Object  string `json:"object"`
	Created int64  `json:"created"`
	OwnedBy string `json:"owned_by"`
	// Description is not in OpenAI's API: it is the description of the card.
	Description string `json:"description,omitempty"`
}

func (f *Front) showModel(v *surface.Request, escaped string) error {
	caller := v.Caller.Principal
	name, err := url.PathUnescape(escaped)
	if err != nil {
		return noModel(escaped, nil)
	}
	for _, m := range f.models(caller) {
		if m.ID == name {
			v.Reply(http.StatusOK, marshal(m))
			return nil
		}
	}
	if _, err := f.resolve(caller, name); err != nil {
		return err
	}
	v.Reply(http.StatusOK, marshal(model{ID: name, Object: "model", Created: f.since(), OwnedBy: "parley"}))
	return nil
}

// models returns the agents visible to a caller, each followed by its skills.
func (f *Front) models(caller *auth.Principal) []model {
	all := []model{}
	agents := f.Engine.AgentsFor(caller)
	for i := range agents {
		c := agents[i].Card
		m := model{ID: string(agents[i].Name), Object: "model", Created: f.since(), OwnedBy: "parley", Description: c.Description}
		if c.Provider != nil && c.Provider.Org != "" {
			m.OwnedBy = c.Provider.Org
		}
		all = append(all, m)
		for j := range c.Skills {
			of := m
			of.ID += "/" + c.Skills[j].ID
			of.Description = c.Skills[j].Description
			all = append(all, of)
		}
	}
	return all
}

func (f *Front) since() int64 { return max(0, f.Since.Unix()) }

// chosen is the agent and the skill of a model; one of them may be empty.
type chosen struct {
	agent task.Agent
	skill string
}

// resolve returns the agent and skill of a model: an agent, else an agent with a skill, else a
// skill that an agent lists.
func (f *Front) resolve(caller *auth.Principal, name string) (chosen, error) {
	if name == "" {
		return chosen{}, invalid("model", "is required")
	}
	if _, ok := f.Engine.AgentFor(caller, task.Agent(name)); ok {
		return chosen{agent: task.Agent(name)}, nil
	}
	for i := strings.LastIndexByte(name, '/'); i > 0; i = strings.LastIndexByte(name[:i], '/') {
		if a, ok := f.Engine.AgentFor(caller, task.Agent(name[:i])); ok {
			if skill := name[i+1:]; len(a.Card.Skills) == 0 || lists(&a, skill) {
				return chosen{a.Name, skill}, nil
			}
		}
	}
	agents := f.Engine.AgentsFor(caller)
	if slices.ContainsFunc(agents, func(a engine.Agent) bool { return lists(&a, name) }) {
		return chosen{skill: name}, nil
	}
	return chosen{}, noModel(name, f.models(caller))
}

// lists reports whether the card of an agent has a skill, whose id is compared without regard
// to case.
func lists(a *engine.Agent, skill string) bool {
	return slices.ContainsFunc(a.Card.Skills, func(s a2a.AgentSkill) bool { return strings.EqualFold(s.ID, skill) })
}

// noModel is the error for a model that does not exist.
func noModel(name string, all []model) error {
	const most = 64
	if len(name) > most {
		name = strings.ToValidUTF8(name[:most], "") + "…"
	}
	ids := make([]string, len(all))
	for i := range all {
		ids[i] = all[i].ID
	}
	meant := ""
	if nearest := suggest.Nearest(name, ids); nearest != "" {
		meant = "; did you mean `" + nearest + "`?"
	}
	e := apierror.New(a2a.ErrTaskNotFound, "The model `%s` does not exist%s", name, meant).With("code", "model_not_found")
	e.Violations = []apierror.Violation{{Field: "model", Problem: "does not exist"}}
	return e
}

// marshal encodes a value that can always be encoded.
func marshal(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		panic("openaifront: " + err.Error())
	}
	return b
}
