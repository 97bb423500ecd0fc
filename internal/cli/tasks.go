package cli

import (
	"cmp"
	"context"
	"fmt"
	"io"
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
	"github.com/parley-a2a/parley/internal/task"
)

type tasksCmd struct {
	List   tasksListCmd   `cmd:"" help:"List your tasks, most recently changed first."`
	Count  tasksCountCmd  `cmd:"" help:"Count your tasks by state."`
	Get    tasksGetCmd    `cmd:"" help:"Show a task."`
	Cancel tasksCancelCmd `cmd:"" help:"Cancel a task."`
	Watch  tasksWatchCmd  `cmd:"" help:"Follow a task and the tasks that it delegates."`

	Redrive  tasksRedriveCmd  `cmd:"" help:"Repeat the message of a task that hangs."`
	Fail     tasksFailCmd     `cmd:"" help:"End a task as failed."`
	Reassign tasksReassignCmd `cmd:"" help:"Move a waiting task to another agent."`
}

// maxPage is the largest page of the protocol (specification §3.1.4).
const maxPage = 100

type tasksListCmd struct {
	target
	watched
	format
	State   string `help:"Only tasks in this state, such as working." placeholder:"STATE"`
	Context string `help:"Only tasks of this context." placeholder:"ID"`
	Search  string `help:"Only tasks with all these words in their messages and results, the newest first. The hub must be a Parley hub." placeholder:"TEXT"`
	Limit   int    `help:"The maximum number of tasks; 0 means all." default:"20"`
	All     bool   `help:"The tasks of all owners on a Parley hub, for administrators; --agent selects the tasks of an agent."`
}

func (c *tasksListCmd) Run(in interrupts, o *OS) error {
	req := &a2a.ListTasksRequest{ContextID: c.Context, PageSize: maxPage}
	if c.Limit < 0 {
		return usagef("--limit must be at least 0")
	}
	if c.Limit > 0 {
		req.PageSize = min(c.Limit, maxPage)
	}
	if c.State != "" {
		state, err := parseState(c.State)
		if err != nil {
			return err
		}
		req.Status = state
	}
	switch {
	case c.All && (c.Context != "" || c.Binding != ""):
		return usagef("--all cannot be combined with --context or --binding")
	case c.Search != "" && c.Binding != "":
		return usagef("--search cannot be combined with --binding")
	case c.All || c.Search != "":
		return c.listHub(in.soft, req, o)
	}
	return c.call(in.soft, func(cl *client.Client) error { return c.list(in.soft, cl, req, o) })
}

func (c *tasksListCmd) list(ctx context.Context, cl *client.Client, req *a2a.ListTasksRequest, o *OS) error {
	onHub := c.onHub(cl)
	var infos func() map[a2a.TaskID]*adminjson.TaskInfo
	t := &table[*a2a.Task]{heads: "TASK\tSTATE\tCHANGED\tAGENT\tWAITING\tMESSAGE\tANSWER", none: "No tasks.", format: c.format, row: func(t *a2a.Task) []any {
		var info adminjson.TaskInfo
		if onHub && !o.Quiet { // which prints ids only
			if known := infos()[t.ID]; known != nil {
				info = *known
			}
		}
		return []any{
			printable(string(t.ID)), stateName(t.Status.State), timeName(t.Status.Timestamp), dash(printable(info.Agent)),
			waitingName(info.WaitingIn(t.Status.State)), c.words(o, info.Message), c.words(o, info.Answer),
		}
	}}
	list := func(yield func(*a2a.Task, error) bool) {
		infos = sync.OnceValue(func() map[a2a.TaskID]*adminjson.TaskInfo { return c.infos(ctx, req) })
		first(c.Limit, cl.Tasks(ctx, req))(yield)
	}
	if !c.Watch {
		return t.print(o, list)
	}
	if !onHub {
		return usagef("--watch needs a Parley hub, which %s is not", c.URL)
	}
	return t.keep(ctx, o, c.news(), list)
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
	q := url.Values{
		"agent": {c.Agent}, "context": {req.ContextID}, "state": {string(req.Status)}, "pageSize": {strconv.Itoa(maxPage)},
	}
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
	q := url.Values{"pageSize": {strconv.Itoa(req.PageSize)}}
	for name, value := range map[string]string{"agent": c.Agent, "state": string(req.Status), "context": c.Context, "q": c.Search} {
		if value != "" {
			q.Set(name, value)
		}
	}
	heads := "TASK\tSTATE\tCHANGED\tAGENT\tWAITING\tMESSAGE\tANSWER"
	if c.All {
		q.Set("scope", "all")
		heads = strings.Replace(heads, "AGENT", "AGENT\tOWNER", 1)
	}
	t := &table[*adminjson.TaskInfo]{
		heads: heads, none: "No tasks.", format: c.format,
		row: func(t *adminjson.TaskInfo) []any {
			cells := []any{printable(string(t.TaskID)), stateName(a2a.TaskState(t.State)), timeName(&t.ChangedAt), printable(t.Agent)}
			if c.All {
				cells = append(cells, printable(t.Owner))
			}
			return append(cells, waitingName(t.Waiting), c.words(o, t.Message), c.words(o, t.Answer))
		},
	}
	hub, partial := c.hub(), false
	list := first(c.Limit, pages(ctx, &hub, adminapi.Root+"/tasks?"+q.Encode(), func(p *adminjson.TaskList) ([]adminjson.TaskInfo, string) {
		partial = partial || p.Partial
		return p.Tasks, nextPage("pageToken", p.NextPageToken)
	}))
	if c.Watch {
		return t.keep(ctx, o, c.news(), list)
	}
	err := t.print(o, list)
	if err == nil && partial {
		fmt.Fprintln(o.Stderr, "the hub is still indexing the texts of its tasks; some may be missing")
	}
	return err
}

func timeName(t *time.Time) string {
	if t == nil {
		return "-"
	}
	return t.UTC().Format("2006-01-02T15:04:05.000Z")
}

// oneTask are the flags of the commands about one task.
type oneTask struct {
	target
	output
	ID string `arg:"" help:"The id of the task, or its beginning."`
}

type tasksGetCmd struct {
	oneTask
	All   bool   `help:"A task of any owner on a Parley hub, for administrators. The hub records the read in its audit log."`
	Owner string `help:"With --all: the owner, if tasks of several owners have the id." placeholder:"OWNER"`
}

func (c *tasksGetCmd) Run(in interrupts, o *OS) error {
	if !c.All && c.Owner != "" {
		return usagef("--owner needs --all")
	}
	if c.All {
		return c.inspect(in.soft, o)
	}
	if err := c.resolve(in.soft, &c.ID); err != nil {
		return err
	}
	return c.call(in.soft, func(cl *client.Client) error {
		task, err := cl.Get(in.soft, &a2a.GetTaskRequest{ID: a2a.TaskID(c.ID)})
		if err != nil {
			return err
		}
		if err := c.print(task, o, opener(in.soft, cl)); err != nil || c.data() || task.Status.State.Terminal() && !c.wide() || !c.onHub(cl) {
			return err
		}
		hub := c.hub()
		info := hub.taskInfo(in.soft, task.ID)
		if w := info.WaitingIn(task.Status.State); w.Held() {
			fmt.Fprintf(o.Stdout, "\nwaiting: %s\n", hub.reason(w))
		}
		if c.wide() && info.TraceURL != "" {
			fmt.Fprintf(o.Stdout, "\ntrace: %s\n", plain(info.TraceURL))
		}
		return nil
	})
}

// inspect shows a task of any owner. Large parts of its files are only described.
func (c *tasksGetCmd) inspect(ctx context.Context, o *OS) error {
	hub, q := c.hub(), url.Values{"scope": {"all"}}
	if c.Owner != "" {
		q.Set("owner", c.Owner)
	}
	id, err := (&lookup{&hub, "all"}).id(ctx, c.ID)
	if err != nil {
		return err
	}
	var info adminjson.TaskInfo
	if err := hub.ask(ctx, "GET "+taskPath(id)+"?"+q.Encode(), nil, &info); err != nil {
		return err
	}
	if c.data() {
		return c.encode(o.Stdout, &info)
	}
	t, err := task.DecodeTask(info.Task)
	if err != nil {
		return fmt.Errorf("read task %s: %w", c.ID, err)
	}
	if _, err := fmt.Fprintf(o.Stdout, "owner    %s\nagent    %s\n", printable(info.Owner), printable(info.Agent)); err != nil {
		return err
	}
	return c.print(t, o, nil)
}

func (c *oneTask) print(task *a2a.Task, o *OS, open func(*a2a.Part) (io.ReadCloser, error)) error {
	if c.data() {
		return c.encode(o.Stdout, task)
	}
	sh := newShow(o, &c.output, false)
	sh.words.open = open
	fmt.Fprintf(o.Stdout, "task     %s\ncontext  %s\nstate    %s\nchanged  %s\n",
		printable(string(task.ID)), printable(task.ContextID), stateName(task.Status.State), timeName(task.Status.Timestamp))
	for _, m := range task.History {
		if err := writeMessage(o.Stdout, &sh.words, m); err != nil {
			return err
		}
	}
	if err := writeMessage(o.Stdout, &sh.words, task.Status.Message); err != nil {
		return err
	}
	sh.fold.Apply(task)
	for _, a := range task.Artifacts {
		fmt.Fprintf(o.Stdout, "\nartifact %s\n", printable(cmp.Or(a.Name, string(a.ID))))
		sh.fold.Task.Artifacts = []*a2a.Artifact{a}
		if err := sh.artifacts(); err != nil {
			return err
		}
		sh.endLine()
	}
	return sh.words.unsaved
}

func writeMessage(w io.Writer, words *printer, m *a2a.Message) error {
	if m == nil {
		return nil
	}
	text, err := words.message(m)
	if err != nil {
		return err
	}
	who := "agent"
	if m.Role == a2a.MessageRoleUser {
		who = "user"
	}
	_, err = fmt.Fprintf(w, "\n%s: %s\n", who, strings.ReplaceAll(text, "\n", "\n    "))
	return err
}

type tasksCancelCmd struct {
	target
	format
	ID string `arg:"" help:"The id of the task, or its beginning."`
}

func (c *tasksCancelCmd) Run(in interrupts, o *OS) error {
	if err := c.resolve(in.soft, &c.ID); err != nil {
		return err
	}
	return c.call(in.soft, func(cl *client.Client) error {
		task, err := cl.Cancel(in.soft, &a2a.CancelTaskRequest{ID: a2a.TaskID(c.ID)})
		if err != nil {
			return err
		}
		if c.data() {
			return c.encode(o.Stdout, task)
		}
		if o.Quiet {
			return nil
		}
		_, err = fmt.Fprintln(o.Stdout, stateName(task.Status.State))
		return err
	})
}

type tasksCountCmd struct {
	hubFlags
	All   bool   `help:"The tasks of all owners, for administrators. The hub records it in its audit log."`
	Owner string `help:"With --all: only the tasks of this owner." placeholder:"OWNER"`
	Agent string `help:"Only the tasks of this agent." placeholder:"NAME"`
	format
}

func (c *tasksCountCmd) Run(ctx context.Context, o *OS) error {
	if !c.All && c.Owner != "" {
		return usagef("--owner needs --all")
	}
	q := url.Values{}
	if c.All {
		q.Set("scope", "all")
	}
	if c.Owner != "" {
		q.Set("owner", c.Owner)
	}
	if c.Agent != "" {
		q.Set("agent", c.Agent)
	}
	return (&asking[adminjson.TaskCounts]{
		hubFlags: &c.hubFlags, request: "GET " + adminapi.Root + "/counts?" + q.Encode(), format: c.format,
		text: func(n *adminjson.TaskCounts) string {
			var lines strings.Builder
			for _, s := range states {
				if k := n.Counts[s.String()]; k > 0 {
					fmt.Fprintf(&lines, "%s\t%d\n", stateName(s), k)
				}
			}
			fmt.Fprintf(&lines, "total\t%d\n", n.Total)
			return lines.String()
		},
	}).print(ctx, o)
}
