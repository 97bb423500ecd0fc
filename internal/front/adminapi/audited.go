package adminapi

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"

	"github.com/parley-a2a/parley/auth"
	"github.com/parley-a2a/parley/auth/audit"
)

// Auditor writes down what is asked of the API. Methods are called concurrently.
type Auditor interface {
	// Asked is told of a change before it is made, and returns when that is durable. An
	// error refuses the change, and is told to the caller.
	Asked(r *http.Request, d *Deed) error
	// Ended is told what came of it, before the caller is. An error is what the caller
	// is told instead.
	Ended(r *http.Request, d *Deed) error
	// Refused is told of callers who may not do what they ask for. It returns at once.
	Refused(r *http.Request, d *Deed)
}

// Deed is what somebody asks of the API.
type Deed struct {
	Action  audit.Action
	Subject audit.Subject
	// Own says that it is about what belongs to the caller, and nothing of the hub.
	Own bool
	// Outcome and Reason are what came of it. Reason is a constant of the API.
	Outcome audit.Outcome
	Reason  string
	Detail  []audit.Field
	// Asked is the number of the entry that Asked has made.
	Asked uint64
}

type deedKey struct{}

// deedOf returns the deed that a request is; nil if nobody writes it down.
func deedOf(r *http.Request) *Deed {
	d, _ := r.Context().Value(deedKey{}).(*Deed)
	return d
}

// about adds what is known of a deed once it was done.
func about(r *http.Request, s audit.Subject, detail ...audit.Field) {
	if d := deedOf(r); d != nil {
		d.Subject = s
		d.Detail = append(d.Detail, detail...)
	}
}

// audited answers a request that changes something: what is asked for is durable before it is
// done, and its outcome before the answer is sent.
func (h *Handler) audited(w http.ResponseWriter, r *http.Request, t *route) {
	d := h.deed(r)
	d.Own = t.access == own
	if err := h.Audit.Asked(r, d); err != nil {
		h.fail(w, r, err)
		return
	}
	r = r.WithContext(context.WithValue(r.Context(), deedKey{}, d))
	code, body := h.result(r, t.call)
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

// refused writes down that a caller may not do what it asks for.
func (h *Handler) refused(r *http.Request, err error) {
	if h.Audit == nil {
		return
	}
	d := h.deed(r)
	d.Outcome, d.Reason = audit.Refused, "needs an administrator"
	switch {
	case errors.Is(err, errOrigin):
		d.Reason = "asked by a page from elsewhere"
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

// deed returns the deed of a request, by its route. Of an id that callers choose, such as that of
// a key, only what is known here is written down: it may be a secret that was put into the wrong
// place.
func (h *Handler) deed(r *http.Request) *Deed {
	_, path, _ := strings.Cut(r.Pattern, " "+Root+"/")
	family, rest, _ := strings.Cut(path, "/")
	_, verb, _ := strings.Cut(rest, "/")
	id := r.PathValue("id")
	d := &Deed{Action: audit.AdminOther, Subject: audit.Subject{Kind: kinds[family]}}
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

// actions are what routes do.
var actions = map[string]audit.Action{
	"POST keys": audit.KeyAdd, "DELETE keys/{id}": audit.KeyRevoke,
	"POST agents": audit.AgentRegister, "PUT agents/{id}": audit.AgentRegister, "DELETE agents/{id}": audit.AgentRemove,
	"POST agents/{id}/probe": audit.AgentProbe, "POST agents/{id}/refresh": audit.AgentProbe,
	"POST agents/{id}/pause": audit.AgentPause, "POST agents/{id}/resume": audit.AgentResume,
	"POST tasks/{id}/redrive": audit.TaskOperate, "POST tasks/{id}/fail": audit.TaskOperate, "POST tasks/{id}/reassign": audit.TaskOperate,
	"POST trust": audit.TrustChange, "POST inbox": audit.InboxPut,
	"POST inbox/{id}/answer": audit.InboxSettle, "POST inbox/{id}/approve": audit.InboxSettle, "POST inbox/{id}/refuse": audit.InboxSettle,
	"POST push/{id}/redeliver": audit.PushRedeliver, "POST dead/{id}/replay": audit.DeadReplay, "DELETE dead/{id}": audit.DeadDrop,
	"GET audit":       audit.AuditExport,
	"PUT memory/note": audit.MemorySet, "DELETE memory/note": audit.MemoryDelete, "DELETE memory/session": audit.MemoryEnd,
}

// kinds are the kinds of the subjects of the families of paths.
var kinds = map[string]string{
	"keys": "key", "agents": "agent", "tasks": "task", "push": "task", "trust": "principal", "inbox": "item", "dead": "letter",
	"audit": "audit", "memory": "note",
}
