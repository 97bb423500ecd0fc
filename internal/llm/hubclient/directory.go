package hubclient

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/parley-a2a/parley/internal/adminjson"
	"github.com/parley-a2a/parley/internal/llm/agenttools"
)

// Directory returns the directory of the hub's agents.
func (h *Hub) Directory() agenttools.Directory { return directory{h} }

// Registry returns the registry of the hub's agents. The hub permits changes only to
// administrators.
func (h *Hub) Registry() agenttools.Registry { return registry{h} }

type (
	directory struct{ hub *Hub }
	registry  struct{ hub *Hub }
)

// Agents implements agenttools.Directory.
func (d directory) Agents(ctx context.Context) ([]agenttools.Agent, error) {
	var answer struct {
		Agents []agenttools.Agent `json:"agents"`
	}
	if err := d.hub.ask(ctx, &request{method: http.MethodGet, path: "/agents", out: &answer, again: true}); err != nil {
		return nil, err
	}
	slices.SortFunc(answer.Agents, func(a, b agenttools.Agent) int { return strings.Compare(a.Name, b.Name) })
	return answer.Agents, nil
}

// pathOf returns the path of an agent.
func pathOf(name string) string { return "/agents/" + url.PathEscape(name) }

// Agent implements agenttools.Directory.
func (d directory) Agent(ctx context.Context, name string) (*agenttools.Agent, error) {
	a := new(agenttools.Agent)
	return a, d.hub.ask(ctx, &request{method: http.MethodGet, path: pathOf(name), out: a, again: true})
}

// Search implements agenttools.Directory.
func (d directory) Search(ctx context.Context, query string, limit int) ([]adminjson.Result, error) {
	var found adminjson.Found
	q := url.Values{"q": {query}, "limit": {strconv.Itoa(limit)}}
	err := d.hub.ask(ctx, &request{method: http.MethodGet, path: "/search", query: q, out: &found, again: true})
	return found.Results, err
}

// Register implements agenttools.Registry.
func (g registry) Register(ctx context.Context, n *adminjson.NewAgent) (*agenttools.Agent, error) {
	a := new(agenttools.Agent)
	return a, g.hub.ask(ctx, &request{method: http.MethodPut, path: pathOf(n.Name), in: n, out: a, again: true})
}

// Unregister implements agenttools.Registry.
func (g registry) Unregister(ctx context.Context, name string) error {
	return g.hub.ask(ctx, &request{method: http.MethodDelete, path: pathOf(name)})
}

// Refresh implements agenttools.Registry.
func (g registry) Refresh(ctx context.Context, name string) (*agenttools.Refreshed, error) {
	var answer adminjson.Probe
	err := g.hub.ask(ctx, &request{method: http.MethodPost, path: pathOf(name) + "/refresh", out: &answer, again: true})
	if errors.Is(err, agenttools.ErrNotFound) {
		if a, found := directory(g).Agent(ctx, name); found == nil {
			return &agenttools.Refreshed{Agent: *a, Skipped: "it is an agent of the hub itself, whose card is always as it is"}, nil
		}
	}
	if err != nil {
		return nil, err
	}
	r := &agenttools.Refreshed{Agent: agenttools.Agent{Agent: answer.Agent}, Changed: answer.Changed, Error: answer.Error}
	if answer.Agent.Remote != nil && answer.Agent.Remote.Pinned {
		r.Skipped = "its skills are pinned in the configuration"
	}
	return r, nil
}
