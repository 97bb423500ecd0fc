package adminapi

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/parley-a2a/parley/auth"
	"github.com/parley-a2a/parley/auth/policy"
	"github.com/parley-a2a/parley/internal/engine"
	"github.com/parley-a2a/parley/task"
)

// Status is the answer of /api/v1/status.
type Status struct {
	Version string    `json:"version"`
	Started time.Time `json:"started"`
	// UptimeSeconds are whole seconds since Started.
	UptimeSeconds int64  `json:"uptimeSeconds"`
	Store         string `json:"store"`
	// Ready is set if all checks are OK.
	Ready  bool           `json:"ready"`
	Checks []engine.Check `json:"checks"`
	// Bus is the status of the bus; absent if the hub has none.
	Bus *BusStatus `json:"bus,omitempty"`
	// Tasks counts the caller's tasks by the protocol's name of their state. States without
	// tasks are omitted; Tasks is absent if tasks are not counted.
	Tasks map[string]int `json:"tasks,omitempty"`
	// MCPServers are the MCP servers that the hub keeps running. Only administrators see them.
	MCPServers []MCPServer `json:"mcpServers,omitempty"`
}

// MCPServer is the status of an MCP server.
type MCPServer struct {
	Name string `json:"name"`
	// State is idle, starting, ready, down or stopped.
	State string    `json:"state"`
	Since time.Time `json:"since"`
	// Reason is the cause of its last failure.
	Reason string `json:"reason,omitempty"`
	// Server is the name that it reports.
	Server string `json:"server,omitempty"`
	// Tools is the number of tools in use, and LeftOut the number of those that are too many or
	// too large.
	Tools   int `json:"tools"`
	LeftOut int `json:"leftOut,omitempty"`
	// Starts is how often it became ready.
	Starts int `json:"starts"`
}

// states are the states by which tasks are counted.
var states = []task.State{
	task.Submitted, task.Working, task.InputRequired, task.AuthRequired,
	task.Completed, task.Failed, task.Canceled, task.Rejected,
}

func (h *Handler) status(r *http.Request) (*Status, error) {
	checks := h.Hub.Ready(r.Context())
	counts, err := h.counts(r.Context(), auth.PrincipalFrom(r.Context()))
	if err != nil {
		return nil, err
	}
	answer := &Status{
		Version:       h.Version,
		Started:       h.Started.UTC().Truncate(time.Millisecond),
		UptimeSeconds: int64(time.Since(h.Started) / time.Second),
		Store:         h.Store,
		Ready:         !slices.ContainsFunc(checks, func(c engine.Check) bool { return !c.OK }),
		Checks:        append([]engine.Check{}, checks...),
		Tasks:         counts,
		Bus:           h.Bus.status(r.Context(), h.queues(r)),
	}
	if h.MCPServers != nil && h.mayRead(r, policy.AdminRead) {
		answer.MCPServers = h.MCPServers()
	}
	return answer, nil
}

// counts returns how many of the tasks that a caller may list are in each state. Stores
// maintain these totals, so the cost does not depend on them.
func (h *Handler) counts(ctx context.Context, p *auth.Principal) (map[string]int, error) {
	if h.Tasks == nil {
		return nil, nil
	}
	counts := make(map[string]int)
	for _, a := range h.listable(p) {
		for _, s := range states {
			page, err := h.Tasks.List(ctx, &task.Query{Owner: p.Owner(), Agent: a, State: s, Limit: 1})
			if err != nil {
				return nil, fmt.Errorf("count tasks in %v: %w", s, err)
			}
			if page.Total > 0 {
				counts[s.String()] += page.Total
			}
		}
	}
	return counts, nil
}

// listable returns the agents whose tasks a caller may list; the empty name stands for all.
func (h *Handler) listable(p *auth.Principal) []task.Agent {
	if h.Policy.Everywhere(p, policy.List) {
		return []task.Agent{""}
	}
	var names []task.Agent
	for _, a := range h.Hub.Agents() {
		if h.Policy.Allows(p, &policy.Request{Op: policy.List, Agent: a.Name}) {
			names = append(names, a.Name)
		}
	}
	return names
}
