package adminapi

import (
	"net/http"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/agent"
	"github.com/parley-a2a/parley/auth/policy"
	"github.com/parley-a2a/parley/internal/directory"
	"github.com/parley-a2a/parley/internal/engine"
	"github.com/parley-a2a/parley/task"
)

// Local is the kind of an agent whose executor does not say another.
const Local = "local"

// Kinded is an executor that says how it reaches its agent: "command" for a program,
// and so on.
type Kinded interface {
	Kind() string
}

// GatedAgent is an executor that does what callers are trusted with.
type GatedAgent interface {
	// GatedSkills are those alone that are gated; none if all of it is.
	GatedSkills() []string
}

// Agent is an agent of the hub. The parts of the card are copied from it.
type Agent struct {
	Name task.Agent `json:"name"`
	Kind string     `json:"kind"`
	// Default is set for the agent of callers that name none.
	Default     bool     `json:"default"`
	Title       string   `json:"title"`
	Description string   `json:"description"`
	Version     string   `json:"version"`
	Skills      []Skill  `json:"skills"`
	InputModes  []string `json:"inputModes"`
	OutputModes []string `json:"outputModes"`
	Traits      Traits   `json:"traits"`
	// Trust is "gated" for an agent that does what its callers are trusted with; absent for
	// others. GatedSkills are those alone that are gated, if not all of it is.
	Trust       string   `json:"trust,omitempty"`
	GatedSkills []string `json:"gatedSkills,omitempty"`
	// Paused is set if the agent is given no messages, so that they wait.
	Paused bool `json:"paused,omitempty"`
	// LastSeen says when an agent elsewhere was last seen, for a person; State is "up",
	// "down" or "unknown". Both are absent for an agent of the hub.
	LastSeen string `json:"lastSeen,omitempty"`
	State    string `json:"state,omitempty"`
	// Remote is what the directory knows of an agent elsewhere. Administrators see it.
	Remote *Remote `json:"remote,omitempty"`
	// Card is the card as it was registered, with the addresses at which the hub takes messages
	// for the agent. It is given where one agent is asked for.
	Card *a2a.AgentCard `json:"card,omitempty"`
}

// Skill is a skill of an agent.
type Skill struct {
	ID          string   `json:"id"`
	Name        string   `json:"name"`
	Description string   `json:"description"`
	Tags        []string `json:"tags"`
	// InputModes and OutputModes are its media types, if they are not those of the agent.
	InputModes  []string `json:"inputModes,omitempty"`
	OutputModes []string `json:"outputModes,omitempty"`
}

// Traits are what an agent says about its runs, see agent.Traits.
type Traits struct {
	Idempotent bool `json:"idempotent"`
	Serial     bool `json:"serial"`
	// Silence is a duration like "15m0s", "never", or absent for the hub's default.
	Silence string `json:"silence,omitempty"`
}

// agents answers with all agents.
func (h *Handler) agents(r *http.Request) (*AgentList, error) {
	list := AgentList{Agents: []Agent{}}
	known := make(map[task.Agent]bool)
	for _, a := range h.Hub.Agents() {
		known[a.Name] = true
		if h.sees(r, a.Name) {
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
	}
	return &list, nil
}

// AgentList is all agents.
type AgentList struct {
	Agents []Agent `json:"agents"`
	// Problems are what is wrong with the files that name agents. Administrators see
	// them.
	Problems []directory.Problem `json:"problems,omitempty"`
}

// agent answers with one agent.
func (h *Handler) agent(r *http.Request) (*Agent, error) {
	name := r.PathValue("id")
	a, ok := h.Hub.Agent(task.Agent(name))
	if e := h.entry(name); !ok && e != nil {
		a, ok = h.Hub.Agent(e.Name()) // by the name that people use
	}
	if !ok || !h.sees(r, a.Name) {
		return nil, h.noAgent(r, name)
	}
	d := h.enrich(r, h.describe(a))
	card := *a.Card
	card.SupportedInterfaces = []*a2a.AgentInterface{}
	if h.Reach != nil {
		card.SupportedInterfaces = h.Reach(a.Name)
	}
	d.Card = &card
	return &d, nil
}

func (h *Handler) describe(a engine.Agent) Agent {
	d := Agent{
		Name:        a.Name,
		Kind:        kindOf(a),
		Title:       a.Card.Name,
		Description: a.Card.Description,
		Version:     a.Card.Version,
		Skills:      []Skill{},
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
		d.Skills = append(d.Skills, Skill{s.ID, s.Name, s.Description, list(s.Tags), s.InputModes, s.OutputModes})
	}
	return d
}

func kindOf(a engine.Agent) string {
	if k, ok := a.Executor.(Kinded); ok {
		return k.Kind()
	}
	return Local
}

func traitsOf(a engine.Agent) Traits {
	t := agent.TraitsOf(a.Executor)
	shown := Traits{Idempotent: t.Idempotent, Serial: t.Serial}
	switch {
	case t.Silence < 0:
		shown.Silence = "never"
	case t.Silence > 0:
		shown.Silence = t.Silence.Round(time.Millisecond).String()
	}
	return shown
}

// list returns l, as a list even if it is nil.
func list(l []string) []string {
	if l == nil {
		return []string{}
	}
	return l
}
