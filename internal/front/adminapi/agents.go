package adminapi

import (
	"encoding/json"
	"net/http"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/agent"
	"github.com/parley-a2a/parley/internal/adminjson"
	"github.com/parley-a2a/parley/internal/directory"
	"github.com/parley-a2a/parley/internal/engine"
	"github.com/parley-a2a/parley/internal/policy"
	"github.com/parley-a2a/parley/task"
)

// Local is the kind of an agent whose executor is not Kinded.
const Local = "local"

// Kinded is an executor that names its kind of agent: "command" for a program, and so on.
type Kinded interface {
	Kind() string
}

// GatedAgent is an executor whose skills require the trust of the operator in the caller.
type GatedAgent interface {
	// GatedSkills returns the gated skills; none means that all of them are gated.
	GatedSkills() []string
}

// agents answers with all agents.
func (h *Handler) agents(r *http.Request) (*adminjson.AgentList, error) {
	list := adminjson.AgentList{Agents: []adminjson.Agent{}}
	known := make(map[task.Agent]bool)
	for _, a := range h.Hub.Agents() {
		known[a.Name] = true
		if h.maySee(r, a.Name) {
			list.Agents = append(list.Agents, h.enrich(r, h.describe(a)))
		}
	}
	if h.Directory != nil && h.mayRead(r, policy.AdminAgents) {
		for _, e := range h.Directory.List() {
			if !known[e.Name()] {
				list.Agents = append(list.Agents, h.enrich(r, uncalled(e)))
			}
		}
		list.Problems = h.Directory.Problems()
		for _, e := range h.Directory.List() {
			for _, p := range e.Problems {
				if e.Spec.Local { // the others have them in Remote
					list.Problems = append(list.Problems, directory.Problem{Source: "agent " + string(e.Name()), Text: p})
				}
			}
		}
	}
	return &list, nil
}

// agent answers with one agent.
func (h *Handler) agent(r *http.Request) (*adminjson.Agent, error) {
	name := r.PathValue("id")
	a, ok := h.Hub.Agent(task.Agent(name))
	if e := h.entry(name); !ok && e != nil {
		a, ok = h.Hub.Agent(e.Name()) // found under another of its names
	}
	if !ok || !h.maySee(r, a.Name) {
		return nil, h.noAgent(r, name)
	}
	d := h.enrich(r, h.describe(a))
	card := *a.Card
	card.SupportedInterfaces = []*a2a.AgentInterface{}
	if h.Reach != nil {
		card.SupportedInterfaces = h.Reach(a.Name)
	}
	var err error
	d.Card, err = json.Marshal(&card)
	return &d, err
}

func (h *Handler) describe(a engine.Agent) adminjson.Agent {
	d := adminjson.Agent{
		Name:        string(a.Name),
		Kind:        kindOf(a),
		Title:       a.Card.Name,
		Description: a.Card.Description,
		Version:     a.Card.Version,
		Skills:      []adminjson.Skill{},
		InputModes:  list(a.Card.DefaultInputModes),
		OutputModes: list(a.Card.DefaultOutputModes),
		Traits:      traitsOf(a),
	}
	if g, ok := a.Executor.(GatedAgent); ok {
		d.Trust, d.GatedSkills = "gated", g.GatedSkills()
	}
	d.Paused = h.Control != nil && h.Control.IsPaused(a.Name)
	if first, ok := h.Hub.Agent(""); ok {
		d.Default = first.Name == a.Name
	}
	for i := range a.Card.Skills {
		s := &a.Card.Skills[i]
		d.Skills = append(d.Skills, adminjson.Skill{
			ID: s.ID, Name: s.Name, Description: s.Description, Tags: list(s.Tags), InputModes: s.InputModes, OutputModes: s.OutputModes,
		})
	}
	return d
}

func kindOf(a engine.Agent) string {
	if k, ok := a.Executor.(Kinded); ok {
		return k.Kind()
	}
	return Local
}

func traitsOf(a engine.Agent) adminjson.Traits {
	t := agent.TraitsOf(a.Executor)
	shown := adminjson.Traits{AfterCrash: t.AfterCrash.String(), Serial: t.Serial || a.Serial}
	switch {
	case t.Silence < 0:
		shown.Silence = "never"
	case t.Silence > 0:
		shown.Silence = t.Silence.Round(time.Millisecond).String()
	}
	return shown
}

// list returns l, or an empty list if l is nil.
func list(l []string) []string {
	if l == nil {
		return []string{}
	}
	return l
}
