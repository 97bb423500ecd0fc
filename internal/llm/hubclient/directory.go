package hubclient

import (
	"context"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/parley-a2a/parley/internal/adminjson"
)

// Agents returns all agents in the order of their names, without their cards.
func (h *Hub) Agents(ctx context.Context) ([]adminjson.Agent, error) {
	var list adminjson.AgentList
	if err := h.ask(ctx, &request{method: http.MethodGet, path: apiRoot + "/agents", out: &list, again: true}); err != nil {
		return nil, err
	}
	slices.SortFunc(list.Agents, func(a, b adminjson.Agent) int { return strings.Compare(a.Name, b.Name) })
	return list.Agents, nil
}

func agentPath(name string) string { return apiRoot + "/agents/" + url.PathEscape(name) }

// Agent returns an agent with its card. name is its name in the hub or its display name.
func (h *Hub) Agent(ctx context.Context, name string) (*adminjson.Agent, error) {
	a := new(adminjson.Agent)
	return a, h.ask(ctx, &request{method: http.MethodGet, path: agentPath(name), out: a, again: true})
}

// Search returns the agents and MCP servers that match a query, the best first.
func (h *Hub) Search(ctx context.Context, query string, limit int) ([]adminjson.Result, error) {
	var found adminjson.Found
	err := h.ask(ctx, &request{method: http.MethodGet, path: apiRoot + "/search", query: parameters("q", query, "limit", count(limit)), out: &found, again: true})
	return found.Results, err
}

// Register adds an external agent, or changes a registered one. It keeps the old credential if
// n has none. The hub permits changes of its agents only to administrators.
func (h *Hub) Register(ctx context.Context, n *adminjson.NewAgent) (*adminjson.Agent, error) {
	a := new(adminjson.Agent)
	return a, h.ask(ctx, &request{method: http.MethodPut, path: agentPath(n.Name), in: n, out: a, again: true})
}

// Unregister removes a registered agent.
func (h *Hub) Unregister(ctx context.Context, name string) error {
	return h.ask(ctx, &request{method: http.MethodDelete, path: agentPath(name)})
}

// Refresh reads the card of a remote agent again. For an agent of the hub itself, the error
// wraps ErrNotFound.
func (h *Hub) Refresh(ctx context.Context, name string) (*adminjson.Probe, error) {
	p := new(adminjson.Probe)
	return p, h.ask(ctx, &request{method: http.MethodPost, path: agentPath(name) + "/refresh", out: p, again: true})
}
