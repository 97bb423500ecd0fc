package adminapi

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/auth"
	"github.com/parley-a2a/parley/internal/adminjson"
	"github.com/parley-a2a/parley/internal/apierror"
	"github.com/parley-a2a/parley/internal/audit"
	"github.com/parley-a2a/parley/internal/dialect"
	"github.com/parley-a2a/parley/internal/inbox"
	"github.com/parley-a2a/parley/internal/policy"
)

const inboxPage = 50

// Errors of this API beside those of the protocol.
var (
	errNoItem = dialect.Report{
		Row:     dialect.Row{HTTP: http.StatusNotFound, GRPC: dialect.NotFound, Reason: "ITEM_NOT_FOUND"},
		Message: "no such item in the inbox",
	}
	rowSettled = dialect.Row{HTTP: http.StatusConflict, GRPC: dialect.FailedPrecondition, Reason: "ITEM_SETTLED"}
)

// viewer determines the part of the inbox that a caller sees: an administrator all of it,
// others the questions about their own tasks. Approvals are not shown to the caller that waits
// for them.
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

// maySee reports whether the caller may see and settle an item: without permission to get the
// task, a caller does not see its question.
func (v *viewer) maySee(it *inbox.Item) bool {
	return v.admin || it.Kind == inbox.Question && it.Owner == v.Owner() &&
		(it.Task == "" || v.policy.Allows(v.Principal, &policy.Request{Op: policy.Get, Agent: it.Agent}))
}

type settler func(ctx context.Context, id inbox.ID, by, text string) (inbox.Item, error)

// listInbox answers with a page of items.
func (h *Handler) listInbox(r *http.Request) (*adminjson.InboxList, error) {
	v := h.viewer(r)
	q, err := inboxQuery(r)
	if err != nil {
		return nil, err
	}
	if !v.admin {
		q.Owner = v.Owner()
		q.Kinds = slices.DeleteFunc(or(q.Kinds, inbox.Kinds()), func(k inbox.Kind) bool { return k != inbox.Question })
	}
	if !v.admin && len(q.Kinds) == 0 {
		return &adminjson.InboxList{Items: []inbox.Item{}}, nil
	}
	limit := q.Limit
	q.Limit++ // one more, to detect a further page
	found, err := h.Inbox.List(r.Context(), q)
	if err != nil {
		return nil, err
	}
	answer := adminjson.InboxList{Items: append([]inbox.Item{}, found[:min(limit, len(found))]...)}
	if len(found) > limit {
		answer.NextPageToken = string(found[limit-1].ID)
	}
	answer.Items = slices.DeleteFunc(answer.Items, func(it inbox.Item) bool { return !v.maySee(&it) })
	return &answer, nil
}

func or[T any](list, otherwise []T) []T {
	if len(list) == 0 {
		return otherwise
	}
	return list
}

// inboxQuery parses the query of a request; the default is open items.
func inboxQuery(r *http.Request) (*inbox.Query, error) {
	values := r.URL.Query()
	q := &inbox.Query{State: inbox.Open, After: inbox.ID(values.Get("pageToken"))}
	switch s := values.Get("state"); {
	case s == "all":
		q.State = ""
	case s != "" && !slices.Contains(inbox.States(), inbox.State(s)):
		return nil, apierror.Field(a2a.ErrInvalidParams, "state", "must be all, open, answered, approved, refused or expired")
	case s != "":
		q.State = inbox.State(s)
	}
	for _, k := range values["kind"] {
		if !slices.Contains(inbox.Kinds(), inbox.Kind(k)) {
			return nil, apierror.Field(a2a.ErrInvalidParams, "kind", "must be question, approval or notice")
		}
		q.Kinds = append(q.Kinds, inbox.Kind(k))
	}
	var err error
	q.Limit, err = pageSize(values, inboxPage, maxPushPage)
	return q, err
}

// item returns an item that the caller may see; hidden items give the same error as missing
// ones.
func (h *Handler) item(r *http.Request) (*inbox.Item, error) {
	it, err := h.Inbox.Get(r.Context(), inbox.ID(r.PathValue("id")))
	v := h.viewer(r)
	if err == nil && !v.maySee(&it) {
		err = inbox.ErrNotFound
	}
	return &it, inboxError(r, err)
}

func (h *Handler) answerItem(r *http.Request, d *adminjson.Decision) (*inbox.Item, error) {
	return h.settleItem(r, d, h.Inbox.Answer)
}

func (h *Handler) approveItem(r *http.Request, d *adminjson.Decision) (*inbox.Item, error) {
	return h.settleItem(r, d, h.Inbox.Approve)
}

func (h *Handler) refuseItem(r *http.Request, d *adminjson.Decision) (*inbox.Item, error) {
	return h.settleItem(r, d, h.Inbox.Refuse)
}

// settleItem answers, approves or refuses.
func (h *Handler) settleItem(r *http.Request, d *adminjson.Decision, settle settler) (*inbox.Item, error) {
	if _, err := h.item(r); err != nil {
		return nil, err
	}
	it, err := settle(r.Context(), inbox.ID(r.PathValue("id")), auth.PrincipalFrom(r.Context()).ID, d.Text)
	if err != nil {
		return nil, inboxError(r, err)
	}
	about(r, audit.Subject{Kind: "item", ID: string(it.ID), Agent: string(it.Agent), Task: string(it.Task)}, audit.Field{Name: "state", Value: string(it.State)})
	h.log().Info("inbox item settled", "item", it.ID, "state", it.State, "task", it.Task, "by", it.By, "address", r.RemoteAddr)
	return &it, nil
}

func inboxError(r *http.Request, err error) error {
	var first *inbox.Settled
	switch {
	case errors.As(err, &first):
		return refuse(dialect.Report{Row: rowSettled, Message: first.Error(), Meta: map[string]string{
			"state": string(first.Item.State), "by": first.Item.By,
		}})
	case errors.Is(err, inbox.ErrNotFound):
		return named(errNoItem, r.PathValue("id"))
	case errors.Is(err, inbox.ErrInvalid):
		return apierror.New(a2a.ErrInvalidParams, "%s", strings.TrimPrefix(err.Error(), "invalid: "))
	}
	return err
}
