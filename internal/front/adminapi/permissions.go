package adminapi

import (
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/auth"
	"github.com/parley-a2a/parley/internal/apierror"
	"github.com/parley-a2a/parley/internal/policy"
	"github.com/parley-a2a/parley/internal/task"
	"github.com/parley-a2a/parley/internal/trust"
)

// The maximum numbers of callers and of agents in an answer. Filters select others.
const (
	maxPermittedCallers = 50
	maxPermittedAgents  = 24
)

// Permissions is the answer of GET /api/v1/permissions: what callers may do, and why.
type Permissions struct {
	// Columns are the agents, or the operations of one agent, in the order of the cells.
	Columns []string           `json:"columns"`
	Callers []PermissionsOfOne `json:"callers"`
	// MoreCallers and MoreColumns are set if there are others that match.
	MoreCallers bool `json:"moreCallers,omitempty"`
	MoreColumns bool `json:"moreColumns,omitempty"`
	// Operations are the names of all operations.
	Operations []string `json:"operations"`
	// Policy is set if the hub has a policy.
	Policy bool `json:"policy"`
}

// PermissionsOfOne are the permissions of one caller.
type PermissionsOfOne struct {
	AgentID string   `json:"agentId"`
	Owner   string   `json:"owner,omitempty"`
	Roles   []string `json:"roles"`
	// Level is the level of trust in the caller; absent if the hub has none.
	Level string       `json:"level,omitempty"`
	Cells []Permission `json:"cells"`
}

// Permission is a decision with its reason.
type Permission struct {
	Allowed bool `json:"allowed"`
	// Gate is "approval" or "notice" if the agent is gated: a person approves each request before the agent performs it,
	// or is only notified of it. It is absent if the agent performs it at once.
	Gate string `json:"gate,omitempty"`
	// Reason names the rule, and the trust that decides.
	Reason string `json:"reason"`
}

// permissions answers with the decisions about callers: about one operation with all agents, or about all
// operations with one agent.
func (h *Handler) permissions(r *http.Request) (*Permissions, error) {
	q := r.URL.Query()
	answer := &Permissions{Columns: []string{}, Callers: []PermissionsOfOne{}, Policy: h.Policy != nil}
	for _, o := range policy.Ops() {
		answer.Operations = append(answer.Operations, o.String())
	}
	var asked []policy.Request
	if one := q.Get("agent"); one != "" {
		for _, o := range policy.Ops() {
			asked = append(asked, policy.Request{Op: o, Agent: task.Agent(one)})
			answer.Columns = append(answer.Columns, o.String())
		}
	} else {
		o, err := policy.ParseOp(q.Get("op"))
		if q.Get("op") == "" {
			o, err = policy.Send, nil
		}
		if err != nil {
			return nil, apierror.Field(a2a.ErrInvalidParams, "op", "%s", err.Error())
		}
		for _, a := range h.Hub.Agents() {
			switch {
			case !strings.Contains(string(a.Name), q.Get("find")):
			case len(asked) == maxPermittedAgents:
				answer.MoreColumns = true
			default:
				asked = append(asked, policy.Request{Op: o, Agent: a.Name})
				answer.Columns = append(answer.Columns, string(a.Name))
			}
		}
	}
	for _, p := range h.callers() {
		switch {
		case !strings.Contains(p.ID, q.Get("caller")):
		case len(answer.Callers) == maxPermittedCallers:
			answer.MoreCallers = true
		default:
			answer.Callers = append(answer.Callers, h.permissionsOf(r, &p, asked))
		}
	}
	return answer, nil
}

// callers returns the principals of valid keys, and the caller without credentials.
func (h *Handler) callers() (all []auth.Principal) {
	if h.Keys != nil {
		for _, k := range h.Keys.List() {
			same := func(p auth.Principal) bool {
				return p.ID == k.Principal.ID && p.Org == k.Principal.Org && slices.Equal(p.Roles, k.Principal.Roles)
			}
			if _, worker := k.BusAgent(); !worker && k.Good(time.Now()) && !slices.ContainsFunc(all, same) {
				all = append(all, k.Principal)
			}
		}
	}
	slices.SortStableFunc(all, func(a, b auth.Principal) int { return strings.Compare(a.ID, b.ID) })
	return append(all, auth.Principal{ID: auth.Local})
}

func (h *Handler) permissionsOf(r *http.Request, p *auth.Principal, asked []policy.Request) PermissionsOfOne {
	one := PermissionsOfOne{AgentID: p.ID, Owner: p.Org, Roles: list(p.Roles), Cells: []Permission{}}
	var entry trust.Entry
	if h.Trust != nil {
		entry = h.Trust.Level(r.Context(), trust.Subject(p.ID))
		one.Level = entry.Level.String()
	}
	for i := range asked {
		c := h.permission(p, &asked[i])
		if c.Allowed && (asked[i].Op == policy.Send || asked[i].Op == policy.Stream) {
			h.gate(&c, asked[i].Agent, &entry)
		}
		one.Cells = append(one.Cells, c)
	}
	return one
}

// permission returns the decision of the policy, or of a hub without one.
func (h *Handler) permission(p *auth.Principal, q *policy.Request) Permission {
	if h.Policy != nil {
		d := h.Policy.Explain(p, q)
		return Permission{Allowed: d.Allowed, Reason: d.Reason}
	}
	switch {
	case p.Anonymous() && h.keyed():
		return Permission{Reason: "callers need a key"}
	case !q.Op.Admin():
		return Permission{Allowed: true, Reason: "there is no policy: every caller may"}
	case p.Anonymous():
		return Permission{Allowed: true, Reason: "there are no keys: callers on the hub's machine may"}
	case slices.Contains(p.Roles, auth.RoleAdmin):
		return Permission{Allowed: true, Reason: "the caller has the role " + auth.RoleAdmin}
	}
	return Permission{Reason: "there is no policy, and the caller lacks the role " + auth.RoleAdmin}
}

// gate adds the effect of an agent's gate to a permission.
func (h *Handler) gate(c *Permission, name task.Agent, entry *trust.Entry) {
	a, ok := h.Hub.Agent(name)
	gated, is := a.Executor.(GatedAgent)
	if !ok || !is || h.Trust == nil {
		return
	}
	what := "the agent is gated"
	if skills := gated.GatedSkills(); len(skills) > 0 {
		what = "the agent is gated for " + strings.Join(skills, ", ")
	}
	c.Reason += "; " + what + ", and the trust in the caller is " + entry.Level.String()
	switch {
	case entry.Level < trust.Propose:
		c.Gate = "notice"
	case entry.Level == trust.Act && len(entry.Skills) > 0:
		c.Gate = "approval"
		c.Reason += "; without approval for " + strings.Join(entry.Skills, ", ")
	default:
		c.Gate = "approval"
	}
}
