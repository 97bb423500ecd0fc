package adminapi

import (
	"bytes"
	"context"
	"errors"
	"maps"
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

// audited serves a request that changes something: what is asked for is durable before it is
// done, and what came of it before it is told.
func (h *Handler) audited(w http.ResponseWriter, r *http.Request, serve http.HandlerFunc, own bool) {
	d := h.deed(r)
	d.Own = own
	if err := h.Audit.Asked(r, d); err != nil {
		h.fail(w, r, err)
		return
	}
	r = r.WithContext(context.WithValue(r.Context(), deedKey{}, d))
	kept := &keptAnswer{header: make(http.Header), code: http.StatusOK}
	serve(kept, r)
	switch {
	case kept.code < http.StatusBadRequest:
		d.Outcome = audit.OK
	case kept.code < http.StatusInternalServerError:
		d.Outcome = audit.Refused
	default:
		d.Outcome = audit.Failed
	}
	if err := h.Audit.Ended(r, d); err != nil {
		h.fail(w, r, err)
		return
	}
	maps.Copy(w.Header(), kept.header)
	w.WriteHeader(kept.code)
	_, _ = w.Write(kept.body.Bytes()) // whoever asked is gone; nobody is left to be told
}

// keptAnswer keeps an answer until it may be told.
type keptAnswer struct {
	header http.Header
	code   int
	body   bytes.Buffer
}

func (k *keptAnswer) Header() http.Header         { return k.header }
func (k *keptAnswer) WriteHeader(code int)        { k.code = code }
func (k *keptAnswer) Write(b []byte) (int, error) { return k.body.Write(b) }

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

// deed returns what a request is about, by its method and its path. Of an id that callers
// choose, such as that of a key, only what is known here is written down: it may be a
// secret that was put into the wrong place.
func (h *Handler) deed(r *http.Request) *Deed {
	below := strings.Trim(strings.TrimPrefix(r.URL.Path, Root), "/")
	family, rest, _ := strings.Cut(below, "/")
	id, verb := rest, ""
	if family == "tasks" || family == "push" {
		id, verb = cutLast(rest)
	} else {
		id, verb, _ = strings.Cut(rest, "/")
	}
	d := &Deed{Action: audit.AdminOther, Subject: audit.Subject{Kind: kindName(family)}}
	if verb != "" {
		d.Detail = []audit.Field{{Name: "what", Value: verb}}
	}
	if a, ok := actions[r.Method+" "+family]; ok {
		d.Action = a
	}
	if a, ok := actions[family+" "+verb]; ok && verb != "" {
		d.Action = a
	}
	h.name(d, family, id)
	if family == "memory" {
		d.Action, d.Subject.Kind = memoryAction(r.Method, rest), "note"
		d.Subject.ID = r.URL.Query().Get("key")
	}
	return d
}

// actions are what is done by a method of a family of paths, or by a verb at their end.
var actions = map[string]audit.Action{
	"POST keys": audit.KeyAdd, "DELETE keys": audit.KeyRevoke,
	"POST agents": audit.AgentRegister, "PUT agents": audit.AgentRegister, "DELETE agents": audit.AgentRemove,
	"agents probe": audit.AgentProbe, "agents refresh": audit.AgentProbe,
	"agents pause": audit.AgentPause, "agents resume": audit.AgentResume,
	"POST tasks": audit.TaskOperate, "POST trust": audit.TrustChange,
	"POST inbox": audit.InboxPut, "inbox answer": audit.InboxSettle, "inbox approve": audit.InboxSettle, "inbox refuse": audit.InboxSettle,
	"POST push": audit.PushRedeliver, "dead replay": audit.DeadReplay, "DELETE dead": audit.DeadDrop,
	"GET audit": audit.AuditExport,
}

func memoryAction(method, rest string) audit.Action {
	switch {
	case rest == "session":
		return audit.MemoryEnd
	case method == http.MethodDelete:
		return audit.MemoryDelete
	}
	return audit.MemorySet
}

// kindName is the kind of the subjects of a family of paths.
func kindName(family string) string {
	return map[string]string{
		"keys": "key", "agents": "agent", "tasks": "task", "push": "task", "trust": "principal", "inbox": "item", "dead": "letter", "audit": "audit",
	}[family]
}

// name fills in which one a deed is about, as far as the path says it.
func (h *Handler) name(d *Deed, family, id string) {
	switch family {
	case "keys":
		if h.Keys != nil && slices.ContainsFunc(h.Keys.List(), func(k auth.Key) bool { return k.ID == id }) {
			d.Subject.ID = id
		}
	case "agents":
		d.Subject.ID, d.Subject.Agent = id, id
	case "tasks", "push":
		d.Subject.ID, d.Subject.Task = id, id
	case "inbox", "dead":
		d.Subject.ID = id
	}
}
