package adminapi

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/auth"
	"github.com/parley-a2a/parley/auth/audit"
	"github.com/parley-a2a/parley/auth/policy"
	"github.com/parley-a2a/parley/inbox"
	"github.com/parley-a2a/parley/internal/apierror"
	"github.com/parley-a2a/parley/internal/dialect"
)

// InboxList is the answer of GET /api/v1/inbox.
type InboxList struct {
	Items []inbox.Item `json:"items"`
	// NextPageToken continues the list; empty at its end.
	NextPageToken string `json:"nextPageToken,omitempty"`
}

// Decision is what is said with an answer, an approval or a refusal.
type Decision struct {
	Text string `json:"text,omitempty"`
}

const inboxPage = 50

// What this API has beside the errors of the protocol.
var (
	errNoItem = dialect.Report{
		Row:     dialect.Row{HTTP: http.StatusNotFound, GRPC: dialect.NotFound, Reason: "ITEM_NOT_FOUND"},
		Message: "no such item in the inbox",
	}
	rowSettled = dialect.Row{HTTP: http.StatusConflict, GRPC: dialect.FailedPrecondition, Reason: "ITEM_SETTLED"}
)

// viewer is what a caller sees of the inbox: an administrator all of it, others the
// questions about their own tasks. What waits for an approval is not for who waits.
type viewer struct {
	*auth.Principal
	admin  bool
	policy *policy.Policy
}

func (h *Handler) viewer(r *http.Request) viewer {
	p := auth.PrincipalFrom(r.Context())
	v := viewer{p, h.may(r, policy.Request{Op: policy.AdminInbox}) || reads(r) && h.may(r, policy.Request{Op: policy.AdminRead}), h.Policy}
	if v.admin && h.Active != nil {
		h.Active()
	}
	return v
}

// sees reports whether the caller may see and settle an item: who may not get the task that
// asks does not see its question.
func (v *viewer) sees(it *inbox.Item) bool {
	return v.admin || it.Kind == inbox.Question && it.Owner == v.Owner() &&
		(it.Task == "" || v.policy.Allows(v.Principal, &policy.Request{Op: policy.Get, Agent: it.Agent}))
}

// inboxRoute returns what a path below the root serves about the inbox.
func (h *Handler) inboxRoute(below string) endpoint {
	rest, ok := strings.CutPrefix(below, "/inbox")
	if h.Inbox == nil || !ok {
		return endpoint{}
	}
	if rest == "" {
		return endpoint{get: h.listInbox, post: h.putQuestion, own: true}
	}
	id, verb, _ := strings.Cut(strings.TrimPrefix(rest, "/"), "/")
	if rest[0] != '/' || id == "" {
		return endpoint{}
	}
	settle := map[string]settler{"answer": h.Inbox.Answer, "approve": h.Inbox.Approve, "refuse": h.Inbox.Refuse}[verb]
	switch {
	case id == "events" && verb == "":
		return endpoint{get: h.inboxEvents}
	case verb == "" && !strings.HasSuffix(rest, "/"):
		return endpoint{get: func(w http.ResponseWriter, r *http.Request) { h.showItem(w, r, inbox.ID(id)) }}
	case settle != nil:
		return endpoint{post: func(w http.ResponseWriter, r *http.Request) { h.settleItem(w, r, inbox.ID(id), settle) }, own: true}
	}
	return endpoint{}
}

// settler settles an item.
type settler func(ctx context.Context, id inbox.ID, by, text string) (inbox.Item, error)

// listInbox answers with a page of items.
func (h *Handler) listInbox(w http.ResponseWriter, r *http.Request) {
	v := h.viewer(r)
	q, err := inboxQuery(r)
	if err != nil {
		h.fail(w, r, err)
		return
	}
	if !v.admin {
		q.Owner = v.Owner()
		q.Kinds = slices.DeleteFunc(or(q.Kinds, inbox.Kinds()), func(k inbox.Kind) bool { return k != inbox.Question })
	}
	if !v.admin && len(q.Kinds) == 0 {
		h.answer(w, r, &InboxList{Items: []inbox.Item{}})
		return
	}
	limit := q.Limit
	q.Limit++ // to see whether there are more
	found, err := h.Inbox.List(r.Context(), q)
	if err != nil {
		h.fail(w, r, err)
		return
	}
	answer := InboxList{Items: append([]inbox.Item{}, found[:min(limit, len(found))]...)}
	if len(found) > limit {
		answer.NextPageToken = string(found[limit-1].ID)
	}
	answer.Items = slices.DeleteFunc(answer.Items, func(it inbox.Item) bool { return !v.sees(&it) })
	h.answer(w, r, &answer)
}

func or[T any](list, otherwise []T) []T {
	if len(list) == 0 {
		return otherwise
	}
	return list
}

// inboxQuery reads what is asked for: open items unless something else is said.
func inboxQuery(r *http.Request) (*inbox.Query, error) {
	values := r.URL.Query()
	q := &inbox.Query{State: inbox.Open, After: inbox.ID(values.Get("pageToken")), Limit: inboxPage}
	switch s := values.Get("state"); {
	case s == "all":
		q.State = ""
	case s != "" && !slices.Contains(inbox.States(), inbox.State(s)):
		return nil, apierror.Field(a2a.ErrInvalidParams, "state", "is none of all, open, answered, approved, refused and expired")
	case s != "":
		q.State = inbox.State(s)
	}
	for _, k := range values["kind"] {
		if !slices.Contains(inbox.Kinds(), inbox.Kind(k)) {
			return nil, apierror.Field(a2a.ErrInvalidParams, "kind", "is none of question, approval and notice")
		}
		q.Kinds = append(q.Kinds, inbox.Kind(k))
	}
	if s := values.Get("pageSize"); s != "" {
		n, err := strconv.Atoi(s)
		if err != nil || n < 1 {
			return nil, apierror.Field(a2a.ErrInvalidParams, "pageSize", "is not a number from 1")
		}
		q.Limit = min(n, maxPushPage)
	}
	return q, nil
}

// item returns an item that the caller may see; others are as missing as none.
func (h *Handler) item(r *http.Request, id inbox.ID) (inbox.Item, error) {
	it, err := h.Inbox.Get(r.Context(), id)
	v := h.viewer(r)
	if err == nil && !v.sees(&it) {
		err = inbox.ErrNotFound
	}
	return it, err
}

func (h *Handler) showItem(w http.ResponseWriter, r *http.Request, id inbox.ID) {
	it, err := h.item(r, id)
	if err != nil {
		h.failInbox(w, r, id, err)
		return
	}
	h.answer(w, r, &it)
}

// settleItem answers, approves or refuses.
func (h *Handler) settleItem(w http.ResponseWriter, r *http.Request, id inbox.ID, settle settler) {
	var d Decision
	err := decode(r, &d)
	if err == nil {
		_, err = h.item(r, id)
	}
	var it inbox.Item
	if err == nil {
		it, err = settle(r.Context(), id, auth.PrincipalFrom(r.Context()).ID, d.Text)
	}
	if err != nil {
		h.failInbox(w, r, id, err)
		return
	}
	about(r, audit.Subject{Kind: "item", ID: string(it.ID), Agent: string(it.Agent), Task: string(it.Task)}, audit.Field{Name: "state", Value: string(it.State)})
	if h.Logger != nil {
		h.Logger.Info("item of the inbox is settled", "item", it.ID, "state", it.State, "task", it.Task, "by", it.By, "address", r.RemoteAddr)
	}
	h.answer(w, r, &it)
}

// failInbox answers with an error of the inbox.
func (h *Handler) failInbox(w http.ResponseWriter, r *http.Request, id inbox.ID, err error) {
	var first *inbox.Settled
	switch {
	case errors.As(err, &first):
		refuse(w, r, &dialect.Report{Row: rowSettled, Message: first.Error(), Meta: map[string]string{
			"state": string(first.Item.State), "by": first.Item.By,
		}})
	case errors.Is(err, inbox.ErrNotFound):
		refuse(w, r, named(errNoItem, string(id)))
	case errors.Is(err, inbox.ErrInvalid):
		h.fail(w, r, apierror.New(a2a.ErrInvalidParams, "%s", strings.TrimPrefix(err.Error(), "invalid: ")))
	default:
		h.fail(w, r, err)
	}
}
