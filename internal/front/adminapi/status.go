package adminapi

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/auth"
	"github.com/parley-a2a/parley/internal/adminjson"
	"github.com/parley-a2a/parley/internal/apierror"
	"github.com/parley-a2a/parley/internal/engine"
	"github.com/parley-a2a/parley/internal/policy"
	"github.com/parley-a2a/parley/internal/task"
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
		Bus:           h.Bus.status(h.queues(r)),
	}
	if h.MCPServers != nil && h.mayRead(r, policy.AdminRead) {
		answer.MCPServers = h.MCPServers()
	}
	return answer, nil
}

// counts returns how many of the tasks that a caller may list are in each state.
func (h *Handler) counts(ctx context.Context, p *auth.Principal) (map[string]int, error) {
	if h.Tasks == nil {
		return nil, nil
	}
	return h.countAll(ctx, task.Query{Owner: p.Owner()}, h.listable(p))
}

// countAll counts the tasks of agents by their states. Stores maintain these totals, so the cost
// does not depend on them.
func (h *Handler) countAll(ctx context.Context, q task.Query, agents []task.Agent) (map[string]int, error) {
	counts := make(map[string]int)
	q.Limit = 1
	for _, a := range agents {
		for _, s := range states {
			q.Agent, q.State = a, s
			page, err := h.Tasks.List(ctx, &q)
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

// taskCounts answers with the numbers of the caller's tasks, or of those of all owners or of one
// of them.
func (h *Handler) taskCounts(r *http.Request) (*adminjson.TaskCounts, error) {
	q, agents, err := h.selected(r)
	if err != nil {
		return nil, err
	}
	return h.countAnswer(r.Context(), q, agents)
}

// countAnswer counts the tasks of agents.
func (h *Handler) countAnswer(ctx context.Context, q task.Query, agents []task.Agent) (*adminjson.TaskCounts, error) {
	counts, err := h.countAll(ctx, q, agents)
	if err != nil {
		return nil, err
	}
	answer := &adminjson.TaskCounts{Counts: counts}
	for _, n := range counts {
		answer.Total += n
	}
	return answer, nil
}

// selected returns the tasks that a request wants to be counted: those of an owner, and of these agents.
func (h *Handler) selected(r *http.Request) (q task.Query, agents []task.Agent, err error) {
	v, p := r.URL.Query(), auth.PrincipalFrom(r.Context())
	q, agents = task.Query{Owner: p.Owner()}, h.listable(p)
	switch all := everyOwner(r); {
	case all:
		q, agents = task.Query{Owner: task.Owner(v.Get("owner"))}, []task.Agent{""}
		q.AllOwners = q.Owner == ""
	case v.Get("scope") != "":
		return q, nil, errScope
	case v.Has("owner"):
		return q, nil, apierror.Field(a2a.ErrInvalidParams, "owner", "needs scope=all")
	}
	if a := task.Agent(v.Get("agent")); a != "" {
		if !slices.Contains(agents, a) && !slices.Contains(agents, "") {
			agents = nil
		} else {
			agents = []task.Agent{a}
		}
	}
	return q, agents, nil
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

// caller answers with the caller's own identity.
func (h *Handler) caller(r *http.Request) (*adminjson.Caller, error) {
	p := auth.PrincipalFrom(r.Context())
	return &adminjson.Caller{
		ID: p.ID, Name: p.DisplayName, Owner: string(p.Owner()), Anonymous: p.Anonymous(), Roles: list(p.Roles), Admin: h.mayRead(r, policy.AdminTasks),
	}, nil
}
