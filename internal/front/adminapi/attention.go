package adminapi

import (
	"cmp"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/parley-a2a/parley/auth"
	"github.com/parley-a2a/parley/internal/adminjson"
	"github.com/parley-a2a/parley/internal/op"
	"github.com/parley-a2a/parley/internal/policy"
	"github.com/parley-a2a/parley/internal/task"
)

const (
	// attentionPace is the minimum time between two looks for streams.
	attentionPace = 5 * time.Second
	// attentionPages is the number of pages of tasks that are looked at in each state.
	attentionPages = 5
	// failedTime is how long a failed task needs attention.
	failedTime = time.Hour
	// quietTime is how long the agent of a running task is silent before it needs attention.
	quietTime = 5 * time.Minute
	// maxAttention is the maximum number of items.
	maxAttention = 50
)

// mendable are the codes of reasons that a person can remove, in the order of the list. The others pass by themselves, or with
// a task that has one of these.
var mendable = []string{
	adminjson.WaitsForStore, adminjson.WaitsForBroker, adminjson.WaitsForAgent, adminjson.WaitsForWorker, adminjson.WaitsForRemote,
	adminjson.WaitsForResume, adminjson.WaitsForPermission, adminjson.WaitsForAnswer, adminjson.Quiet, adminjson.Failed,
}

// attention answers with the tasks that need a person.
func (h *Handler) attention(r *http.Request) (*adminjson.AttentionList, error) {
	now, err := h.attentionNow(r)
	if err != nil {
		return nil, err
	}
	return now.value.(*adminjson.AttentionList), nil
}

// attentionEvents sends the tasks that need a person, and again after changes.
func (h *Handler) attentionEvents(w http.ResponseWriter, r *http.Request) {
	h.sendLatest(w, r, h.attended, h.attentionNow)
}

// attentionNow returns the tasks that need a person among the tasks that a request selects. Callers with the same rights
// share it.
func (h *Handler) attentionNow(r *http.Request) (*counted, error) {
	p := auth.PrincipalFrom(r.Context())
	viewer := p.ID
	if h.Policy == nil {
		viewer = fmt.Sprint(h.mayRead(r, policy.AdminAgents))
	}
	owner := string(p.Owner())
	if everyOwner(r) {
		owner = ""
	}
	return h.attended.get(r.Context(), h.Events, []any{everyOwner(r), owner, viewer}, func() (any, error) { return h.lookAround(r) })
}

// lookAround looks at the open tasks of a request and at those that have failed lately.
func (h *Handler) lookAround(r *http.Request) (*adminjson.AttentionList, error) {
	var heads []*task.Head
	list := &adminjson.AttentionList{Items: []adminjson.Attention{}}
	now := time.Now()
	for _, s := range []task.State{task.Submitted, task.Working, task.InputRequired, task.AuthRequired, task.Failed} {
		q := &op.List{State: s, PageSize: maxTaskPage}
		if s == task.Failed {
			q.Since = task.MillisOf(now.Add(-failedTime))
		}
		some, partial, err := h.some(r, q)
		if err != nil {
			return nil, err
		}
		heads, list.Partial = append(heads, some...), list.Partial || partial
	}
	groups := make(map[string]*adminjson.Attention)
	for i, w := range h.waiting(r, heads...) {
		a := needs(heads[i], w, now)
		if a == nil {
			continue
		}
		a.Owner = otherOwner(r, heads[i])
		group := strings.Join([]string{a.Code, a.Agent, sortOf(a)}, "\x00")
		if g := groups[group]; g != nil {
			g.Join(a)
		} else {
			groups[group] = a
		}
	}
	for _, g := range groups {
		list.Items = append(list.Items, *g)
	}
	slices.SortFunc(list.Items, func(a, b adminjson.Attention) int {
		return cmp.Or(cmp.Compare(slices.Index(mendable, a.Code), slices.Index(mendable, b.Code)), cmp.Compare(b.Count, a.Count), strings.Compare(a.Agent, b.Agent), strings.Compare(a.Text, b.Text))
	})
	if len(list.Items) > maxAttention {
		list.Items, list.Partial = list.Items[:maxAttention], true
	}
	return list, nil
}

// some returns the last changed tasks of a list, and whether there are more.
func (h *Handler) some(r *http.Request, q *op.List) (heads []*task.Head, more bool, err error) {
	none := 0
	q.HistoryLength = &none
	for range attentionPages {
		page, err := h.page(r, q)
		if err != nil {
			return nil, false, err
		}
		for i := range page.Tasks {
			heads = append(heads, &page.Tasks[i].Head)
		}
		if q.PageToken = page.NextPageToken; q.PageToken == "" {
			return heads, false, nil
		}
	}
	return heads, true, nil
}

// needs returns why a task needs a person; nil if it needs none.
func needs(t *task.Head, w *adminjson.Waiting, now time.Time) *adminjson.Attention {
	a := &adminjson.Attention{Agent: string(t.Performer()), Count: 1, Since: t.StatusAt.Time(), Last: t.StatusAt.Time(), TaskID: t.ID, State: t.State.String()}
	quiet := now.Sub(t.UpdatedAt.Time())
	switch {
	case t.State == task.Failed:
		a.Code, a.Text = adminjson.Failed, cmp.Or(words(t.StatusMessage), "failed without a reason")
	case w == nil:
		return nil
	case slices.Contains(mendable, w.Code):
		a.Code, a.Text, a.Command = w.Code, w.Text, w.Command
	case w.Code == adminjson.Runs && w.Behind == nil && t.State == task.Working && t.Run.Dispatch == task.Claimed && quiet >= quietTime:
		a.Code, a.Since = adminjson.Quiet, t.UpdatedAt.Time()
		a.Text = fmt.Sprintf("agent %q works without output for %s", a.Agent, quiet.Round(time.Second))
	default:
		return nil
	}
	return a
}

// numbers matches the parts that differ between the texts of failures with the same cause.
var numbers = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f-]{27}|[0-9]+`)

// sortOf returns a text that separates the failures of one agent.
func sortOf(a *adminjson.Attention) string {
	if a.Code != adminjson.Failed {
		return ""
	}
	return numbers.ReplaceAllString(a.Text, "#")
}
