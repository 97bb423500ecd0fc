package hubclient

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/parley-a2a/parley/internal/llm/agenttools"
)

// Directory returns the agents of the hub.
func (h *Hub) Directory() agenttools.Directory { return directory{h} }

// Registry returns what changes the agents of the hub. The hub lets administrators do so.
func (h *Hub) Registry() agenttools.Registry { return registry{h} }

type (
	directory struct{ hub *Hub }
	registry  struct{ hub *Hub }
)

// agent is an agent as the hub's own interface tells it.
type agent struct {
	Name        string   `json:"name"`
	Kind        string   `json:"kind"`
	Title       string   `json:"title"`
	Description string   `json:"description"`
	Skills      []skill  `json:"skills"`
	InputModes  []string `json:"inputModes"`
	OutputModes []string `json:"outputModes"`
	LastSeen    string   `json:"lastSeen"`
	Remote      *struct {
		Pinned bool `json:"pinned"`
	} `json:"remote"`
	Card json.RawMessage `json:"card"`
}

type skill struct {
	ID          string `json:"id"`
	Name        string `json:"name,omitempty"`
	Description string `json:"description,omitempty"`

	InputModes  []string `json:"inputModes,omitempty"`
	OutputModes []string `json:"outputModes,omitempty"`
}

func (a *agent) known() agenttools.Agent {
	k := agenttools.Agent{
		Name: a.Name, Title: a.Title, Description: a.Description, LastSeen: a.LastSeen,
		InputModes: a.InputModes, OutputModes: a.OutputModes, Card: a.Card,
	}
	for _, s := range a.Skills {
		k.Skills = append(k.Skills, agenttools.Skill(s))
	}
	return k
}

// Agents implements agenttools.Directory.
func (d directory) Agents(ctx context.Context) ([]agenttools.Agent, error) {
	var answer struct {
		Agents []agent `json:"agents"`
	}
	if err := d.hub.ask(ctx, &request{method: http.MethodGet, path: "/agents", out: &answer, again: true}); err != nil {
		return nil, err
	}
	list := make([]agenttools.Agent, len(answer.Agents))
	for i := range answer.Agents {
		list[i] = answer.Agents[i].known()
	}
	slices.SortFunc(list, func(a, b agenttools.Agent) int { return strings.Compare(a.Name, b.Name) })
	return list, nil
}

// pathOf returns the path of an agent.
func pathOf(name string) string { return "/agents/" + url.PathEscape(name) }

// Agent implements agenttools.Directory.
func (d directory) Agent(ctx context.Context, name string) (*agenttools.Agent, error) {
	var a agent
	if err := d.hub.ask(ctx, &request{method: http.MethodGet, path: pathOf(name), out: &a, again: true}); err != nil {
		return nil, err
	}
	known := a.known()
	return &known, nil
}

// Search implements agenttools.Directory.
func (d directory) Search(ctx context.Context, query string, limit int) ([]agenttools.Found, error) {
	var answer struct {
		Results []struct {
			ID        string   `json:"id"`
			Type      string   `json:"type"`
			Summary   string   `json:"summary"`
			Relevance float64  `json:"relevance_score"`
			TopSkills []string `json:"top_skills"`
			TopTools  []string `json:"top_tools"`
		} `json:"results"`
	}
	q := url.Values{"q": {query}, "limit": {strconv.Itoa(limit)}}
	if err := d.hub.ask(ctx, &request{method: http.MethodGet, path: "/search", query: q, out: &answer, again: true}); err != nil {
		return nil, err
	}
	var found []agenttools.Found
	for _, r := range answer.Results {
		found = append(found, agenttools.Found{
			ID: r.ID, Type: r.Type, Summary: r.Summary, Score: r.Relevance, Top: append(r.TopSkills, r.TopTools...),
		})
	}
	return found, nil
}

// Register implements agenttools.Registry.
func (g registry) Register(ctx context.Context, r *agenttools.Registration) (*agenttools.Agent, error) {
	type credentials struct {
		Name  string `json:"headerName"`
		Value string `json:"headerValueBase64"`
	}
	in := struct {
		URL         string       `json:"url"`
		Description string       `json:"description,omitempty"`
		Skills      []skill      `json:"skills,omitempty"`
		Credentials *credentials `json:"credentials,omitempty"`
	}{URL: r.URL, Description: r.Description}
	for _, s := range r.Skills {
		in.Skills = append(in.Skills, skill(s))
	}
	if r.HeaderName != "" {
		in.Credentials = &credentials{r.HeaderName, r.HeaderValueBase64}
	}
	var a agent
	if err := g.hub.ask(ctx, &request{method: http.MethodPut, path: pathOf(r.Name), in: &in, out: &a, again: true}); err != nil {
		return nil, err
	}
	known := a.known()
	return &known, nil
}

// Unregister implements agenttools.Registry.
func (g registry) Unregister(ctx context.Context, name string) error {
	return g.hub.ask(ctx, &request{method: http.MethodDelete, path: pathOf(name)})
}

// Refresh implements agenttools.Registry.
func (g registry) Refresh(ctx context.Context, name string) (*agenttools.Refreshed, error) {
	var answer struct {
		Agent     agent  `json:"agent"`
		Reachable bool   `json:"reachable"`
		Changed   bool   `json:"changed"`
		Error     string `json:"error"`
	}
	err := g.hub.ask(ctx, &request{method: http.MethodPost, path: pathOf(name) + "/refresh", out: &answer, again: true})
	if errors.Is(err, agenttools.ErrNotFound) {
		if a, found := directory(g).Agent(ctx, name); found == nil {
			return &agenttools.Refreshed{Agent: *a, Skipped: "it is an agent of the hub itself, whose card is always as it is"}, nil
		}
	}
	if err != nil {
		return nil, err
	}
	r := &agenttools.Refreshed{Agent: answer.Agent.known(), Changed: answer.Changed, Error: answer.Error}
	if answer.Agent.Remote != nil && answer.Agent.Remote.Pinned {
		r.Skipped = "its skills are pinned in the configuration"
	}
	return r, nil
}
