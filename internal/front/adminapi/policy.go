package adminapi

import (
	"net/http"
	"strings"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/auth"
	"github.com/parley-a2a/parley/internal/apierror"
	"github.com/parley-a2a/parley/internal/memory"
	"github.com/parley-a2a/parley/internal/policy"
	"github.com/parley-a2a/parley/task"
)

// families are the policy operations and the audited subjects of the paths below /api/v1, by their first
// element.
var families = map[string]struct {
	read, change policy.Op
	// open states that reads need no permission here: the handler shows each caller only its
	// visible part.
	open bool
	// kind is the kind of the subjects of audit entries.
	kind string
}{
	"status":      {read: policy.Status, change: policy.AdminOther},
	"caller":      {open: true, change: policy.AdminOther},
	"agents":      {open: true, change: policy.AdminAgents, kind: "agent"},
	"conformance": {read: policy.AdminAgents, change: policy.AdminAgents, kind: "agent"},
	"search":      {open: true, change: policy.AdminOther},
	"tasks":       {open: true, change: policy.AdminTasks, kind: "task"},      // the engine checks reads
	"counts":      {open: true, change: policy.AdminTasks, kind: "counts"},    // as tasks
	"attention":   {open: true, change: policy.AdminTasks, kind: "attention"}, // as tasks
	"graph":       {read: policy.AdminTasks, change: policy.AdminOther},
	"dead":        {read: policy.AdminTasks, change: policy.AdminTasks, kind: "letter"},
	"costs":       {read: policy.AdminRead, change: policy.AdminOther},
	"confidences": {read: policy.AdminRead, change: policy.AdminOther},
	"keys":        {read: policy.AdminKeys, change: policy.AdminKeys, kind: "key"},
	"trust":       {read: policy.AdminTrust, change: policy.AdminTrust, kind: "principal"},
	"permissions": {read: policy.AdminRead, change: policy.AdminOther},
	"push":        {read: policy.AdminPush, change: policy.AdminPush, kind: "task"},
	"samples":     {read: policy.AdminRead, change: policy.AdminOther},
	"events":      {read: policy.AdminRead, change: policy.AdminOther, kind: "events"},
	"audit":       {read: policy.AdminAudit, change: policy.AdminAudit, kind: "audit"},
	"memory":      {read: policy.MemoryRead, change: policy.MemoryWrite, kind: "note"},
	"inbox":       {read: policy.InboxRead, change: policy.InboxWrite, kind: "item"},
}

// asks returns the policy request for a request, and whether the policy is asked at all. Paths
// without a family need AdminOther.
func (h *Handler) asks(r *http.Request) (policy.Request, bool) {
	below := strings.TrimPrefix(strings.TrimPrefix(r.URL.Path, Root), "/")
	name, _, _ := strings.Cut(below, "/")
	f, ok := families[name]
	read := reads(r)
	switch {
	case !ok:
		return policy.Request{Op: policy.AdminOther}, true
	case everyOwner(r):
		return policy.Request{Op: policy.AdminTasks}, true
	case read && f.open:
		return policy.Request{}, false
	case read:
		return policy.Request{Op: f.read}, true
	}
	q := policy.Request{Op: f.change}
	if name == "agents" {
		q.Agent = h.agentNamed(r)
	}
	return q, true
}

// agentNamed returns the agent that a path names, by its name in the hub.
func (h *Handler) agentNamed(r *http.Request) task.Agent {
	name := r.PathValue("id")
	if e := h.entry(name); e != nil {
		return e.Name()
	}
	return task.Agent(name)
}

func reads(r *http.Request) bool { return r.Method == http.MethodGet || r.Method == http.MethodHead }

// may reports whether the caller may perform an administrator's operation: the policy allows
// it, or the caller is an administrator and the policy does not deny it.
func (h *Handler) may(r *http.Request, q policy.Request) bool {
	p := auth.PrincipalFrom(r.Context())
	switch {
	case h.Policy == nil:
		return administers(r, h.keyed)
	case h.Policy.Denies(p, &q):
		return false
	}
	return h.Policy.Allows(p, &q) || administers(r, h.keyed)
}

// mayRead reports whether the caller may read what administrators read: everything, or the part
// of one operation.
func (h *Handler) mayRead(r *http.Request, o policy.Op) bool {
	return h.may(r, policy.Request{Op: o}) || h.may(r, policy.Request{Op: policy.AdminRead})
}

// permit returns an error if the caller may not send r to a route.
func (h *Handler) permit(a access, r *http.Request) error {
	if h.Policy == nil {
		return h.admit(a, r)
	}
	read := reads(r)
	if (!read || a == secret) && h.Names.SameOrigin(r) != nil {
		return errOrigin
	}
	q, asked := h.asks(r)
	p := auth.PrincipalFrom(r.Context())
	switch {
	case !asked:
		return nil
	case q.Op.Admin() && read && h.mayRead(r, q.Op), q.Op.Admin() && !read && h.may(r, q):
		return nil
	case !q.Op.Admin() && (h.Policy.Allows(p, &q) || q.Op == policy.Status && h.mayRead(r, policy.AdminRead)):
		return nil
	case (q.Op == policy.InboxRead || q.Op == policy.InboxWrite) && h.viewer(r).admin:
		return nil
	}
	what := q.Op.String()
	if q.Agent != "" {
		what += " on agent \"" + memory.Clip(string(q.Agent), maxNamed) + "\""
	}
	return apierror.New(a2a.ErrUnauthorized, "%s is not allowed", what)
}

// maySee reports whether an agent is visible to the caller.
func (h *Handler) maySee(r *http.Request, name task.Agent) bool {
	return h.Policy == nil || h.Policy.Sees(auth.PrincipalFrom(r.Context()), name) ||
		h.may(r, policy.Request{Op: policy.AdminAgents, Agent: name}) || h.mayRead(r, policy.AdminRead)
}
