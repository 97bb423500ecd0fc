package adminapi

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"

	"github.com/parley-a2a/parley/auth"
	"github.com/parley-a2a/parley/internal/audit"
)

// Auditor records the requests to the API. Methods are called concurrently.
type Auditor interface {
	// Asked records a change before it is made, and returns when the record is durable. An
	// error refuses the change, and is sent to the caller.
	Asked(r *http.Request, d *AuditEvent) error
	// Ended records the outcome before the caller gets it. An error is sent to the caller in
	// place of the outcome.
	Ended(r *http.Request, d *AuditEvent) error
	// Refused records a request of a caller without permission. It returns at once.
	Refused(r *http.Request, d *AuditEvent)
}

// AuditEvent is a request to the API, for the audit log.
type AuditEvent struct {
	Action  audit.Action
	Subject audit.Subject
	// Own states that the request concerns the caller's own data, and nothing of the hub.
	Own bool
	// Outcome and Reason are the result. Reason is a constant of the API.
	Outcome audit.Outcome
	Reason  string
	Detail  []audit.Field
	// Asked is the number of the entry that Auditor.Asked has written.
	Asked uint64
}

type auditEventKey struct{}

// auditEventOf returns the audit event of a request; nil if it is not recorded.
func auditEventOf(r *http.Request) *AuditEvent {
	d, _ := r.Context().Value(auditEventKey{}).(*AuditEvent)
	return d
}

// about adds the details of an event that are known once it was done.
func about(r *http.Request, s audit.Subject, detail ...audit.Field) {
	if d := auditEventOf(r); d != nil {
		d.Subject = s
		d.Detail = append(d.Detail, detail...)
	}
}

// audited answers a request for a change: the request is durable in the log before the change
// is made, and its outcome before the answer is sent.
func (h *Handler) audited(w http.ResponseWriter, r *http.Request, t *route) {
	d := h.auditEvent(r)
	d.Own = t.access == own
	if err := h.Audit.Asked(r, d); err != nil {
		h.fail(w, r, err)
		return
	}
	r = r.WithContext(context.WithValue(r.Context(), auditEventKey{}, d))
	code, body := h.result(w, r, t.call)
	switch {
	case code < http.StatusBadRequest:
		d.Outcome = audit.OK
	case code < http.StatusInternalServerError:
		d.Outcome = audit.Refused
	default:
		d.Outcome = audit.Failed
	}
	if err := h.Audit.Ended(r, d); err != nil {
		h.fail(w, r, err)
		return
	}
	write(w, r, code, body)
}

// refused records a request of a caller without permission.
func (h *Handler) refused(r *http.Request, err error) {
	if h.Audit == nil {
		return
	}
	d := h.auditEvent(r)
	d.Outcome, d.Reason = audit.Refused, "needs an administrator"
	switch {
	case errors.Is(err, errOrigin):
		d.Reason = "requested by a page of another site"
	case h.Policy != nil:
		d.Reason = "the policy does not allow it"
	}
	asked := string(d.Action)
	if reads(r) {
		asked = "read"
	}
	d.Detail = append(d.Detail, audit.Field{Name: "action", Value: asked})
	d.Action = audit.AdminRefused
	h.Audit.Refused(r, d)
}

// auditEvent returns the audit event of a request, by its route. An id that callers choose, such as that of
// a key, is recorded only if it is known here: it may be a misplaced secret.
func (h *Handler) auditEvent(r *http.Request) *AuditEvent {
	_, path, _ := strings.Cut(r.Pattern, " "+Root+"/")
	family, rest, _ := strings.Cut(path, "/")
	_, verb, _ := strings.Cut(rest, "/")
	id := r.PathValue("id")
	d := &AuditEvent{Action: audit.AdminOther, Subject: audit.Subject{Kind: families[family].kind}}
	if a, ok := actions[r.Method+" "+path]; ok {
		d.Action = a
	}
	if verb != "" {
		d.Detail = []audit.Field{{Name: "what", Value: verb}}
	}
	switch family {
	case "keys":
		if h.Keys == nil || !slices.ContainsFunc(h.Keys.List(), func(k auth.Key) bool { return k.ID == id }) {
			id = ""
		}
	case "agents":
		d.Subject.Agent = id
	case "tasks", "push":
		d.Subject.Task = id
	case "memory":
		id = r.URL.Query().Get("key")
	}
	d.Subject.ID = id
	return d
}

// actions are the audit actions of routes.
var actions = map[string]audit.Action{
	"POST keys": audit.KeyAdd, "DELETE keys/{id}": audit.KeyRevoke,
	"POST agents": audit.AgentRegister, "PUT agents/{id}": audit.AgentRegister, "DELETE agents/{id}": audit.AgentRemove,
	"POST agents/review": audit.AgentProbe, "POST agents/{id}/probe": audit.AgentProbe, "POST conformance": audit.AgentProbe, "POST agents/{id}/refresh": audit.AgentProbe,
	"POST agents/{id}/pause": audit.AgentPause, "POST agents/{id}/resume": audit.AgentResume,
	"POST tasks/{id}/redrive": audit.TaskOperate, "POST tasks/{id}/cancel": audit.TaskOperate, "POST tasks/{id}/fail": audit.TaskOperate, "POST tasks/{id}/reassign": audit.TaskOperate,
	"POST trust": audit.TrustChange, "POST inbox": audit.InboxPut,
	"POST inbox/{id}/answer": audit.InboxSettle, "POST inbox/{id}/approve": audit.InboxSettle, "POST inbox/{id}/refuse": audit.InboxSettle,
	"POST push/{id}/redeliver": audit.PushRedeliver, "POST dead/{id}/replay": audit.DeadReplay, "DELETE dead/{id}": audit.DeadDrop,
	"GET audit": audit.AuditExport, "GET tasks": audit.TaskInspect, "GET tasks/{id}": audit.TaskInspect, "GET events": audit.TaskInspect, "GET counts": audit.TaskInspect, "GET counts/events": audit.TaskInspect, "GET attention": audit.TaskInspect, "GET attention/events": audit.TaskInspect,
	"GET tasks/{id}/log": audit.TaskInspect, "GET tasks/{id}/log/events": audit.TaskInspect, "GET tasks/{id}/tree": audit.TaskInspect,
	"PUT memory/note": audit.MemorySet, "DELETE memory/note": audit.MemoryDelete, "DELETE memory/session": audit.MemoryEnd,
}
