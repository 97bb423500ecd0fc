package adminapi

import (
	"context"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/auth"
	"github.com/parley-a2a/parley/internal/adminjson"
	"github.com/parley-a2a/parley/internal/apierror"
	"github.com/parley-a2a/parley/internal/dialect"
	"github.com/parley-a2a/parley/internal/directory/broker"
	"github.com/parley-a2a/parley/internal/engine"
	"github.com/parley-a2a/parley/internal/op"
	"github.com/parley-a2a/parley/internal/task"
	"github.com/parley-a2a/parley/internal/tasktext"
)

// TaskReader reads the tasks of callers with their agents, which the protocol does not expose.
// *engine.Engine implements it. Methods are called concurrently.
type TaskReader interface {
	Get(ctx context.Context, c *op.Caller, r *op.Get) (*engine.Answer, error)
	List(ctx context.Context, c *op.Caller, r *op.List) (*op.Page, error)
	// ListAll returns tasks of all owners. It is called for administrators only.
	ListAll(ctx context.Context, r *op.List) (*op.Page, error)
}

var _ TaskReader = (*engine.Engine)(nil)

// taskPage is the default page size of tasks, and maxTaskPage the largest.
const (
	taskPage    = 50
	maxTaskPage = 100
)

// minPrefix is the minimum length of the beginning of an id, so that a list does not pass over
// all tasks of the hub.
const minPrefix = 4

var errScope = apierror.Field(a2a.ErrInvalidParams, "scope", "must be all, for the tasks of all owners")

func taskInfo(h *task.Head) adminjson.TaskInfo {
	spent := broker.SpentIn(h.StatusMessage)
	info := adminjson.TaskInfo{
		TaskID: h.ID, ContextID: h.ContextID, Agent: string(h.Agent), Assigned: string(h.Assigned), State: h.State.String(),
		CreatedAt: h.CreatedAt.Time(), ChangedAt: h.StatusAt.Time(), Attempt: h.Run.Attempt,
		InputTokens: spent.Input, OutputTokens: spent.Output, CostUSD: spent.USD, QuietSince: quietSince(h),
	}
	if h.State.Interrupted() {
		info.Answer = words(h.StatusMessage)
	}
	return info
}

// quietSince returns the time of the last entry of a task whose agent may be at work, and nil for others.
func quietSince(h *task.Head) *time.Time {
	if h.State != task.Submitted && h.State != task.Working {
		return nil
	}
	return moment(h.UpdatedAt.Time())
}

// task answers with one task of the caller, or of any owner.
func (h *Handler) task(r *http.Request) (*adminjson.TaskInfo, error) {
	if everyOwner(r) {
		return h.inspect(r)
	}
	none := 0
	a, err := h.Reader.Get(r.Context(), callerOf(r), &op.Get{ID: a2a.TaskID(r.PathValue("id")), HistoryLength: &none})
	if err != nil {
		return nil, err
	}
	info := taskInfo(&a.Head)
	info.Reason, info.Waiting = reasonOf(&a.Head), h.waiting(r, &a.Head)[0]
	return &info, h.trace(r, &a.Head, &info)
}

// inspect answers with a task of any owner and its messages.
func (h *Handler) inspect(r *http.Request) (*adminjson.TaskInfo, error) {
	if h.Control == nil {
		return nil, errNoPath
	}
	o := &Operation{Owner: task.Owner(r.URL.Query().Get("owner"))}
	a, err := h.Control.Inspect(r.Context(), target(r, o))
	if err != nil {
		return nil, h.operationError(r, o, err)
	}
	info := taskInfo(&a.Head)
	info.Owner = string(a.Head.Owner)
	info.Reason, info.Waiting = reasonOf(&a.Head), h.waiting(r, &a.Head)[0]
	info.Task = dialect.AppendTask(nil, &a.Answer, dialect.REST)
	return &info, h.trace(r, &a.Head, &info)
}

// scoped are the routes that administrators may use for the tasks of all owners.
var scoped = []string{
	"GET " + Root + "/tasks", "GET " + Root + "/tasks/{id}", "GET " + Root + "/tasks/{id}/log", "GET " + Root + "/tasks/{id}/log/events",
	"GET " + Root + "/tasks/{id}/tree",
	"GET " + Root + "/counts", "GET " + Root + "/counts/events", "GET " + Root + "/attention", "GET " + Root + "/attention/events",
}

// everyOwner reports whether a request is for the tasks of all owners, which needs an
// administrator. Of several values of scope, one suffices.
func everyOwner(r *http.Request) bool {
	return slices.Contains(scoped, r.Pattern) && slices.Contains(r.URL.Query()["scope"], "all")
}

// listTasks answers with a page of the caller's tasks, or of those of all owners or of one of them,
// the last changed first. Those with the beginning of an id are ordered by id, and those of a search by the
// time of their creation, the newest first.
func (h *Handler) listTasks(r *http.Request) (*adminjson.TaskList, error) {
	q, err := taskQuery(r)
	if err != nil {
		return nil, err
	}
	page, err := h.page(r, q)
	if err != nil {
		return nil, err
	}
	heads := make([]*task.Head, len(page.Tasks))
	for i := range page.Tasks {
		heads[i] = &page.Tasks[i].Head
	}
	answer := adminjson.TaskList{Tasks: make([]adminjson.TaskInfo, len(heads)), NextPageToken: page.NextPageToken, Partial: page.Partial}
	infos, all := make([]*adminjson.TaskInfo, len(heads)), everyOwner(r)
	for i, waiting := range h.waiting(r, heads...) {
		info := &answer.Tasks[i]
		*info = taskInfo(heads[i])
		info.Waiting = waiting
		if all {
			info.Owner = string(heads[i].Owner)
		}
		infos[i] = info
	}
	return &answer, h.excerpts(r, heads, infos)
}

// page returns a page of the tasks that a request selects: those of the caller, or of all owners.
func (h *Handler) page(r *http.Request, q *op.List) (*op.Page, error) {
	if everyOwner(r) {
		return h.Reader.ListAll(r.Context(), q)
	}
	return h.Reader.List(r.Context(), callerOf(r), q)
}

// otherOwner returns the owner of a task if it is not the caller, and "" for one of the caller.
func otherOwner(r *http.Request, h *task.Head) string {
	if p := auth.PrincipalFrom(r.Context()); p != nil && h.Owner == p.Owner() {
		return ""
	}
	return string(h.Owner)
}

func taskQuery(r *http.Request) (*op.List, error) {
	values := r.URL.Query()
	if scope := values.Get("scope"); scope != "" && scope != "all" {
		return nil, errScope
	}
	q := &op.List{
		Target:    op.Target{Agent: task.Agent(values.Get("agent"))},
		ContextID: values.Get("context"), PageToken: values.Get("pageToken"),
		IDPrefix: values.Get("idPrefix"), Owner: task.Owner(values.Get("owner")), Text: strings.TrimSpace(values.Get("q")),
	}
	if q.Owner != "" && values.Get("scope") != "all" {
		return nil, apierror.Field(a2a.ErrInvalidParams, "owner", "needs scope=all")
	}
	if err := timeRange(values, q); err != nil {
		return nil, err
	}
	if err := checkSearch(q); err != nil {
		return nil, err
	}
	switch n := len(q.IDPrefix); {
	case n > 0 && n < minPrefix:
		return nil, apierror.Field(a2a.ErrInvalidParams, "idPrefix", "is shorter than %d characters", minPrefix)
	case n > 0 && (q.ContextID != "" || q.Since != 0 || q.Until != 0):
		return nil, apierror.Field(a2a.ErrInvalidParams, "idPrefix", "cannot be combined with context, since or until")
	}
	if name := values.Get("state"); name != "" {
		state, ok := task.ParseState(name)
		if !ok {
			return nil, apierror.Field(a2a.ErrInvalidParams, "state", "is not a task state such as TASK_STATE_WORKING")
		}
		q.State = state
	}
	var err error
	q.PageSize, err = numberOf(values, "pageSize", taskPage, maxTaskPage)
	return q, err
}

// maxSearch is the maximum length of a search in bytes.
const maxSearch = 1024

// checkSearch returns an error for a search that finds nothing, whatever the texts are.
func checkSearch(q *op.List) error {
	switch {
	case len(q.Text) > maxSearch:
		return apierror.Field(a2a.ErrInvalidParams, "q", "is longer than %d bytes", maxSearch)
	case q.Text != "" && q.IDPrefix != "":
		return apierror.Field(a2a.ErrInvalidParams, "q", "cannot be combined with idPrefix")
	case q.Text != "" && len(tasktext.Words(q.Text)) == 0:
		return apierror.Field(a2a.ErrInvalidParams, "q", "has no word to search for: use letters or digits, and a word that is less common than \"the\"")
	}
	return nil
}

// timeRange parses the times between which the state of a task has last changed.
func timeRange(values url.Values, q *op.List) error {
	for name, at := range map[string]*task.Millis{"since": &q.Since, "until": &q.Until} {
		text := values.Get(name)
		if text == "" {
			continue
		}
		t, err := time.Parse(time.RFC3339, text)
		if err != nil || t.UnixMilli() < 1 {
			return apierror.Field(a2a.ErrInvalidParams, name, "is not a time like 2026-11-22T12:00:00Z")
		}
		*at = task.Millis(t.UnixMilli())
	}
	return nil
}
