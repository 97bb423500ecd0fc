package cli

import (
	"context"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/client"
	"github.com/parley-a2a/parley/internal/adminjson"
	"github.com/parley-a2a/parley/internal/clip"
	"github.com/parley-a2a/parley/internal/front/adminapi"
)

// maxPage is the largest page of the protocol (specification §3.1.4).
const maxPage = 100

// taskFilter selects tasks.
type taskFilter struct {
	State string `help:"Only tasks in this state, such as working or failed." placeholder:"STATE"`
	Owner string `help:"Only tasks of this owner on a Parley hub, for administrators." placeholder:"OWNER"`
	Since string `help:"Only tasks whose state has changed since: 2026-11-22T12:00:00Z, 2026-11-22, or how long ago, such as 24h." placeholder:"TIME"`
}

// request returns a request for the tasks.
func (f *taskFilter) request(now time.Time) (*a2a.ListTasksRequest, error) {
	req := &a2a.ListTasksRequest{PageSize: maxPage}
	if f.State != "" {
		state, err := parseState(f.State)
		if err != nil {
			return nil, err
		}
		req.Status = state
	}
	if f.Since != "" {
		since, err := moments(f.Since, now)
		if err != nil {
			return nil, usagef("--since %w", err)
		}
		req.StatusTimestampAfter = &since
	}
	return req, nil
}

// query returns the same request to a hub's own interface.
func (f *taskFilter) query(req *a2a.ListTasksRequest, agent string, all bool) url.Values {
	var since time.Time
	if at := req.StatusTimestampAfter; at != nil {
		since = *at
	}
	return given(map[string]string{
		"agent": agent, "owner": f.Owner, "state": string(req.Status), "context": req.ContextID, "since": instant(since),
		"scope": scopeName(all), "pageSize": strconv.Itoa(req.PageSize),
	})
}

// scopeName returns the value of the scope of a request: that of the tasks of all owners, or "" for those of the caller.
func scopeName(all bool) string {
	if all {
		return "all"
	}
	return ""
}

// given returns a query with the values that are not empty.
func given(values map[string]string) url.Values {
	q := make(url.Values)
	for name, value := range values {
		if value != "" {
			q.Set(name, value)
		}
	}
	return q
}

type tasksListCmd struct {
	target
	watched
	format
	taskFilter
	Context string `help:"Only tasks of this context; with --all, name its owner with --owner." placeholder:"ID"`
	Search  string `help:"Only tasks with all these words in their messages and results, the newest first. The hub must be a Parley hub." placeholder:"TEXT"`
	Limit   int    `help:"The maximum number of tasks; 0 means all." default:"20"`
	All     bool   `help:"The tasks of all owners on a Parley hub, for administrators; --agent selects the tasks of an agent."`
}

func (c *tasksListCmd) Run(in interrupts, o *OS) error {
	if c.Limit < 0 {
		return usagef("--limit must be at least 0")
	}
	req, err := c.request(time.Now())
	if err != nil {
		return err
	}
	req.ContextID = c.Context
	if c.Limit > 0 {
		req.PageSize = min(c.Limit, maxPage)
	}
	c.All = c.All || c.Owner != ""
	switch {
	case c.All && c.Binding != "":
		return usagef("--all and --owner cannot be combined with --binding")
	case c.All && c.Context != "" && c.Owner == "":
		return usagef("--context needs --owner with --all: the contexts of different owners may have the same id")
	case c.Search != "" && c.Binding != "":
		return usagef("--search cannot be combined with --binding")
	case c.All || c.Search != "":
		return c.listHub(in.soft, req, o)
	}
	return c.call(in.soft, func(cl *client.Client) error { return c.list(in.soft, cl, req, o) })
}

func (c *tasksListCmd) list(ctx context.Context, cl *client.Client, req *a2a.ListTasksRequest, o *OS) error {
	onHub, rows := c.onHub(cl), 0
	var infos func() map[a2a.TaskID]*adminjson.TaskInfo
	t := &table[*a2a.Task]{heads: c.heads(), none: "No tasks.", format: c.format, row: func(t *a2a.Task) []any {
		var info adminjson.TaskInfo
		if onHub && !o.Quiet { // which prints ids only
			if known := infos()[t.ID]; known != nil {
				info = *known
			}
		}
		info.Waiting = info.WaitingIn(t.Status.State)
		info.TaskID, info.ContextID, info.State = t.ID, t.ContextID, string(t.Status.State)
		return c.row(o, &info, timeName(t.Status.Timestamp))
	}}
	list := func(yield func(*a2a.Task, error) bool) {
		infos = sync.OnceValue(func() map[a2a.TaskID]*adminjson.TaskInfo { return c.infos(ctx, req) })
		first(c.Limit, counting(&rows, cl.Tasks(ctx, req)))(yield)
	}
	if !c.Watch {
		err := t.print(o, list)
		if err == nil && rows == 0 && onHub {
			hub := c.hub()
			hub.hintOthers(ctx, o, c.query(req, c.Agent, true))
		}
		return err
	}
	if !onHub {
		return usagef("--watch needs a Parley hub, which %s is not", c.URL)
	}
	return t.keep(ctx, o, c.news(), list)
}

// heads returns the names of the columns.
func (c *tasksListCmd) heads() string {
	heads := "TASK\tSTATE\tCHANGED\tAGENT\tWAITING\tMESSAGE\tANSWER"
	if c.All {
		heads = strings.Replace(heads, "AGENT", "AGENT\tOWNER", 1)
	}
	if c.wide() {
		heads += "\tCONTEXT\tATTEMPT\tTOKENS\tCOST"
	}
	return heads
}

// row returns the columns of a task.
func (c *tasksListCmd) row(o *OS, t *adminjson.TaskInfo, changed string) []any {
	cells := []any{printable(string(t.TaskID)), stateName(a2a.TaskState(t.State)), changed, dash(printable(t.Agent))}
	if c.All {
		cells = append(cells, printable(t.Owner))
	}
	cells = append(cells, waitingName(t.Waiting), c.words(o, t.Message), c.words(o, t.Answer))
	if c.wide() {
		cells = append(cells, dash(printable(t.ContextID)), dash(number(int64(t.Attempt))), dash(number(t.InputTokens+t.OutputTokens)), dash(dollars(t.CostUSD)))
	}
	return cells
}

// number returns a number, and "" for zero.
func number(n int64) string {
	if n == 0 {
		return ""
	}
	return strconv.FormatInt(n, 10)
}

// dollars returns a cost, and "" for zero.
func dollars(usd float64) string {
	if usd == 0 {
		return ""
	}
	return fmt.Sprintf("$%.4f", usd)
}

// news returns the stream with the events that change the list.
func (c *tasksListCmd) news() news {
	hub, q := c.hub(), url.Values{"kind": {"task,worker,agent"}}
	if c.Agent != "" {
		q.Set("agent", c.Agent)
	}
	return news{&hub, "/events?" + q.Encode(), true}
}

// infos asks a Parley hub for the facts about the tasks of a list that the protocol does not have: those of
// the last changed ones, so that a list of all tasks costs one question.
func (c *tasksListCmd) infos(ctx context.Context, req *a2a.ListTasksRequest) map[a2a.TaskID]*adminjson.TaskInfo {
	ctx, cancel := context.WithTimeout(ctx, listTimeout)
	defer cancel()
	q := c.query(req, c.Agent, false)
	q.Set("pageSize", strconv.Itoa(maxPage))
	var list adminjson.TaskList
	hub := c.hub()
	if hub.ask(ctx, "GET "+adminapi.Root+"/tasks?"+q.Encode(), nil, &list) != nil {
		return nil
	}
	all := make(map[a2a.TaskID]*adminjson.TaskInfo, len(list.Tasks))
	for i := range list.Tasks {
		all[list.Tasks[i].TaskID] = &list.Tasks[i]
	}
	return all
}

// terminalWords is the maximum length of the words of a task on a terminal, in characters.
const terminalWords = 40

// words returns the first words of a task as a cell of a list.
func (c *tasksListCmd) words(o *OS, words string) string {
	if o.Terminal && !c.wide() {
		words = clip.Fit(words, terminalWords)
	}
	return dash(printable(words))
}

// listHub lists tasks by the API of the hub: those of all owners, or those that a search finds.
func (c *tasksListCmd) listHub(ctx context.Context, req *a2a.ListTasksRequest, o *OS) error {
	q := c.query(req, c.Agent, c.All)
	if c.Search != "" {
		q.Set("q", c.Search)
	}
	t := &table[*adminjson.TaskInfo]{
		heads: c.heads(), none: "No tasks.", format: c.format,
		row: func(t *adminjson.TaskInfo) []any { return c.row(o, t, timeName(&t.ChangedAt)) },
	}
	hub, partial, rows := c.hub(), false, 0
	list := first(c.Limit, counting(&rows, pages(ctx, &hub, adminapi.Root+"/tasks?"+q.Encode(), func(p *adminjson.TaskList) ([]adminjson.TaskInfo, string) {
		partial = partial || p.Partial
		return p.Tasks, nextPage("pageToken", p.NextPageToken)
	})))
	if c.Watch {
		return t.keep(ctx, o, c.news(), list)
	}
	err := t.print(o, list)
	if err == nil && partial {
		fmt.Fprintln(o.Stderr, "the hub is still indexing the texts of its tasks; some may be missing")
	}
	if err == nil && rows == 0 && !c.All {
		hub.hintOthers(ctx, o, q)
	}
	return err
}
