package adminapi

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/internal/apierror"
	"github.com/parley-a2a/parley/internal/dialect"
	"github.com/parley-a2a/parley/internal/memory"
	"github.com/parley-a2a/parley/internal/task"
	"github.com/parley-a2a/parley/internal/webhooks"
)

// Pusher notifies webhooks. *webhooks.Dispatcher implements it. Methods are called concurrently.
type Pusher interface {
	// Status returns the delivery status of a webhook. It returns false for one that is not
	// loaded because no notification is pending.
	Status(ref task.HookRef) (webhooks.Status, bool)
	// Redeliver sends a webhook its undelivered notifications again.
	Redeliver(ctx context.Context, ref task.HookRef) (task.Hooked, error)
}

var _ Pusher = (*webhooks.Dispatcher)(nil)

// Push supplies the webhooks and their delivery.
type Push struct {
	// Desk finds the webhooks of all owners. It is required.
	Desk task.HookAdmin
	// Pusher notifies them. It is required.
	Pusher Pusher
}

// The states of a webhook.
const (
	HookCurrent    = "current"    // every notification so far is delivered
	HookDelivering = "delivering" // a delivery is in progress
	HookWaiting    = "waiting"    // waits for a slot at its endpoint
	HookRetrying   = "retrying"   // waits for its next try
	HookSettled    = "settled"    // no further notification will follow
)

// Webhook is a push notification config for an operator: without its secrets.
type Webhook struct {
	Task   string `json:"task"`
	Config string `json:"config"`
	Owner  string `json:"owner"`
	Agent  string `json:"agent"`
	// URL is the address of the webhook; the values of its query are masked.
	URL string `json:"url"`
	// Scheme is the authentication scheme, or empty.
	Scheme    string     `json:"scheme,omitempty"`
	CreatedAt *time.Time `json:"createdAt,omitempty"`
	// State is "current", "delivering", "waiting", "retrying" or "settled".
	State string `json:"state"`
	// Delivered is the version up to which notifications were delivered; Version is the version of
	// the task.
	Delivered int64 `json:"delivered"`
	Version   int64 `json:"version"`
	// Tries counts the tries of the next version, NextTry is the time of the next one, and
	// LastError the error of the last one.
	Tries     int        `json:"tries,omitempty"`
	NextTry   *time.Time `json:"nextTry,omitempty"`
	LastError string     `json:"lastError,omitempty"`
	// Breaker is the state of the endpoint's circuit breaker: "closed", "open" or "half-open".
	// An open one allows a try at BreakerUntil.
	Breaker      string     `json:"breaker,omitempty"`
	BreakerUntil *time.Time `json:"breakerUntil,omitempty"`
	// Dead are the dead letters, if they were requested.
	Dead []DeadLetter `json:"deadLetters,omitempty"`
}

// DeadLetter is a range of versions whose notifications were not delivered.
type DeadLetter struct {
	First    int64      `json:"first"`
	Last     int64      `json:"last"`
	At       *time.Time `json:"at,omitempty"`
	Attempts int        `json:"attempts"`
	Reason   string     `json:"reason"`
}

// WebhookList is the answer of GET /api/v1/push.
type WebhookList struct {
	Webhooks []Webhook `json:"webhooks"`
	// NextPageToken continues the list; empty at its end.
	NextPageToken string `json:"nextPageToken,omitempty"`
}

// Redeliver requests the delivery of a task's undelivered notifications.
type Redeliver struct {
	// Config is the id of the config; empty means all that have dead letters.
	Config string `json:"config,omitempty"`
}

const (
	pushPage    = 50
	maxPushPage = 200
)

// errNoHook is an error of this API beside those of the protocol.
var errNoHook = dialect.Report{
	Row:     dialect.Row{HTTP: http.StatusNotFound, GRPC: dialect.NotFound, Reason: "WEBHOOK_NOT_FOUND"},
	Message: "no such webhook",
}

func (h *Handler) listHooks(r *http.Request) (*WebhookList, error) {
	q, err := hookQuery(r)
	if err != nil {
		return nil, err
	}
	limit := q.Limit
	q.Limit++ // one more, to detect a further page
	found, err := h.Push.Desk.FindHooks(r.Context(), q)
	if err != nil {
		return nil, err
	}
	answer := WebhookList{Webhooks: []Webhook{}}
	if len(found) > limit {
		found = found[:limit]
		answer.NextPageToken = hookToken(found[limit-1].Ref())
	}
	for i := range found {
		hook, err := h.webhook(r.Context(), &found[i], q.Dead || q.Task != "")
		if err != nil {
			return nil, err
		}
		answer.Webhooks = append(answer.Webhooks, hook)
	}
	return &answer, nil
}

func hookQuery(r *http.Request) (*task.HookQuery, error) {
	values := r.URL.Query()
	q := &task.HookQuery{Task: a2a.TaskID(values.Get("task"))}
	if s := values.Get("dead"); s != "" {
		dead, err := strconv.ParseBool(s)
		if err != nil {
			return nil, apierror.Field(a2a.ErrInvalidParams, "dead", "must be true or false")
		}
		q.Dead = dead
	}
	var err error
	if q.Limit, err = pageSize(values, pushPage, maxPushPage); err != nil {
		return nil, err
	}
	if s := values.Get("pageToken"); s != "" {
		ref, ok := parseHookToken(s)
		if !ok {
			return nil, apierror.Field(a2a.ErrInvalidParams, "pageToken", "is not one of a list of webhooks")
		}
		q.After = ref
	}
	return q, nil
}

// hookToken returns the page token that continues after a hook.
func hookToken(ref task.HookRef) string {
	return base64.RawURLEncoding.EncodeToString([]byte(strconv.FormatInt(int64(ref.Task), 10) + ":" + ref.ID))
}

func parseHookToken(s string) (task.HookRef, bool) {
	b, err := base64.RawURLEncoding.DecodeString(s)
	if err != nil {
		return task.HookRef{}, false
	}
	key, id, ok := strings.Cut(string(b), ":")
	n, err := strconv.ParseInt(key, 10, 64)
	return task.HookRef{Task: task.Key(n), ID: id}, ok && err == nil
}

// webhook describes a hook.
func (h *Handler) webhook(ctx context.Context, k *task.Hooked, letters bool) (Webhook, error) {
	v := Webhook{
		Task: string(k.Head.ID), Config: k.ID, Owner: string(k.Head.Owner), Agent: string(k.Head.Agent),
		URL: maskQuery(k.URL), Scheme: k.Scheme, CreatedAt: moment(k.CreatedAt.Time()),
		State: HookSettled, Delivered: k.Position, Version: k.Head.Version,
	}
	if st, ok := h.Push.Pusher.Status(k.Ref()); ok {
		v.State, v.Delivered = stateOf(&st), st.Position
		v.Tries, v.NextTry, v.LastError = st.Tries, moment(st.Next), st.LastError
		v.Breaker, v.BreakerUntil = st.Breaker, moment(st.Until)
	} else if !k.Settled {
		v.State = HookWaiting // it is being loaded
	}
	if !letters {
		return v, nil
	}
	dead, err := h.Push.Desk.DeadLetters(ctx, k.Ref())
	for _, d := range dead {
		v.Dead = append(v.Dead, DeadLetter{First: d.First, Last: d.Last, At: moment(d.At.Time()), Attempts: d.Attempts, Reason: d.Reason})
	}
	return v, err
}

func stateOf(st *webhooks.Status) string {
	switch {
	case st.Underway:
		return HookDelivering
	case !st.Next.IsZero():
		return HookRetrying
	case st.Behind > 0:
		return HookWaiting
	}
	return HookCurrent
}

// maskQuery hides the values in the query of a URL, because they are often tokens.
func maskQuery(raw string) string {
	base, query, ok := strings.Cut(raw, "?")
	if !ok {
		return raw
	}
	pairs := strings.Split(query, "&")
	for i, p := range pairs {
		if name, value, ok := strings.Cut(p, "="); !ok {
			pairs[i] = mask(p)
		} else {
			pairs[i] = name + "=" + mask(value)
		}
	}
	return base + "?" + strings.Join(pairs, "&")
}

func mask(value string) string {
	if value == "" {
		return ""
	}
	return "***"
}

// redeliver sends webhooks of a task their undelivered notifications again, and answers with
// those webhooks.
func (h *Handler) redeliver(r *http.Request, ask *Redeliver) (*WebhookList, error) {
	id := r.PathValue("id")
	answer, found, err := h.revive(r.Context(), a2a.TaskID(id), ask.Config)
	switch {
	case err != nil:
		return nil, err
	case !found:
		report := errNoHook
		report.Message += fmt.Sprintf(" of task %q", memory.Clip(id, maxNamed))
		if ask.Config != "" {
			return nil, named(report, ask.Config)
		}
		return nil, refuse(report)
	}
	h.record(r, "webhooks are notified again", "task", id, "config", ask.Config, "count", len(answer.Webhooks))
	return answer, nil
}

// revive resets webhooks of a task for redelivery: the one with the given id, or all that have
// dead letters. It reports whether the task has such webhooks at all.
func (h *Handler) revive(ctx context.Context, id a2a.TaskID, config string) (*WebhookList, bool, error) {
	answer := &WebhookList{Webhooks: []Webhook{}}
	found := false
	q := &task.HookQuery{Task: id, Limit: maxPushPage}
	for {
		page, err := h.Push.Desk.FindHooks(ctx, q)
		if err != nil {
			return nil, found, err
		}
		for i := range page {
			k := &page[i]
			if config != "" && k.ID != config {
				continue
			}
			found = true
			if err := h.reviveOne(ctx, k, answer, config != ""); err != nil {
				return nil, found, err
			}
		}
		if len(page) < q.Limit {
			return answer, found, nil
		}
		q.After = page[len(page)-1].Ref()
	}
}

// reviveOne resets a webhook if it has dead letters or if it was named.
func (h *Handler) reviveOne(ctx context.Context, k *task.Hooked, answer *WebhookList, named bool) error {
	if !named {
		dead, err := h.Push.Desk.DeadLetters(ctx, k.Ref())
		if err != nil || len(dead) == 0 {
			return err
		}
	}
	got, err := h.Push.Pusher.Redeliver(ctx, k.Ref())
	if errors.Is(err, task.ErrNotFound) {
		return nil // deleted meanwhile
	}
	if err != nil {
		return err
	}
	v, err := h.webhook(ctx, &got, false)
	answer.Webhooks = append(answer.Webhooks, v)
	return err
}
