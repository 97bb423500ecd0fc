package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"strings"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/client"
	"github.com/parley-a2a/parley/internal/adminjson"
	"github.com/parley-a2a/parley/internal/front/adminapi"
	"github.com/parley-a2a/parley/internal/task"
)

type tasksCmd struct {
	List   tasksListCmd   `cmd:"" help:"List your tasks, most recently changed first."`
	Count  tasksCountCmd  `cmd:"" help:"Count your tasks by state."`
	Get    tasksGetCmd    `cmd:"" help:"Show a task."`
	Cancel tasksCancelCmd `cmd:"" help:"Cancel tasks."`
	Watch  tasksWatchCmd  `cmd:"" help:"Follow a task and the tasks that it delegates."`

	Retry    tasksRetryCmd    `cmd:"" help:"Send the message of a task again, as a new task."`
	Redrive  tasksRedriveCmd  `cmd:"" help:"Repeat the message of a task that hangs."`
	Fail     tasksFailCmd     `cmd:"" help:"End a task as failed."`
	Reassign tasksReassignCmd `cmd:"" help:"Move a waiting task to another agent."`
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
	Owner string `help:"The owner, for administrators, if tasks of several owners have the id." placeholder:"OWNER"`
}

func (c *tasksGetCmd) Run(in interrupts, o *OS) error {
	hub := c.hub()
	if c.All || c.Owner != "" {
		info, err := hub.inspect(in.soft, c.ID, c.Owner)
		if err != nil {
			return err
		}
		return c.printInfo(in.soft, info, o)
	}
	if err := c.resolve(in.soft, &c.ID); err != nil {
		return err
	}
	return c.call(in.soft, func(cl *client.Client) error {
		task, err := cl.Get(in.soft, &a2a.GetTaskRequest{ID: a2a.TaskID(c.ID)})
		if err != nil && c.onHub(cl) {
			var other *adminjson.TaskInfo
			if other, err = hub.ofOthers(in.soft, c.ID, err); err == nil && !c.data() {
				return c.printInfo(in.soft, other, o)
			}
			if err == nil { // data has one form for all owners
				task, err = a2aTask(other)
			}
		}
		if err != nil {
			return err
		}
		if c.data() {
			return c.encode(o.Stdout, task)
		}
		var info *adminjson.TaskInfo
		if c.onHub(cl) {
			info = hub.taskInfo(in.soft, task.ID)
		}
		return errors.Join(c.print(task, info, o, opener(in.soft, cl)), c.delegated(in.soft, info, o))
	})
}

// printInfo shows a task of any owner. Large parts of its files are only described.
func (c *tasksGetCmd) printInfo(ctx context.Context, info *adminjson.TaskInfo, o *OS) error {
	if c.data() {
		return c.encode(o.Stdout, info)
	}
	t, err := a2aTask(info)
	if err != nil {
		return err
	}
	return errors.Join(c.print(t, info, o, nil), c.delegated(ctx, info, o))
}

// delegated writes the tasks that a task has delegated, and those below them. info is nil for a server that is no
// Parley hub.
func (c *tasksGetCmd) delegated(ctx context.Context, info *adminjson.TaskInfo, o *OS) error {
	if info == nil || info.TaskID == "" {
		return nil
	}
	path, hub := "GET "+taskPath(string(info.TaskID))+"/tree", c.hub()
	if info.Owner != "" {
		path += "?" + url.Values{"scope": {"all"}, "owner": {info.Owner}}.Encode()
	}
	var tree adminapi.TaskTree
	if hub.ask(ctx, path, nil, &tree) != nil || len(tree.Tasks) < 2 {
		return nil // a policy may hide the tree
	}
	fmt.Fprintf(o.Stdout, "\ndelegated\n")
	for i := range tree.Tasks[1:] {
		t := &tree.Tasks[i+1]
		fmt.Fprintf(o.Stdout, "%s%s  %s  %s  %s  %s\n", strings.Repeat("  ", t.Depth), plain(string(t.TaskID)), plain(string(t.Agent)),
			stateName(a2a.TaskState(t.State)), ageName(time.Duration(t.AgeMs)*time.Millisecond), dash(plain(t.Text)))
	}
	return nil
}

// a2aTask returns the task of an answer about a task of any owner.
func a2aTask(info *adminjson.TaskInfo) (*a2a.Task, error) {
	t, err := task.DecodeTask(info.Task)
	if err != nil {
		return nil, fmt.Errorf("read task %s: %w", info.TaskID, err)
	}
	return t, nil
}

// facts writes the properties of a task without its messages. info is nil for a server that is no Parley hub.
func (c *tasksGetCmd) facts(w io.Writer, task *a2a.Task, info *adminjson.TaskInfo) error {
	if info == nil {
		info = new(adminjson.TaskInfo)
	}
	row := func(name, value string) string {
		if value == "" {
			return ""
		}
		return fmt.Sprintf("%-8s %s\n", name, plain(value))
	}
	created, attempt, spent := "", "", ""
	if !info.CreatedAt.IsZero() {
		created = timeName(&info.CreatedAt)
	}
	if info.Attempt > 1 {
		attempt = number(int64(info.Attempt))
	}
	if n := info.InputTokens + info.OutputTokens; n > 0 {
		spent = strings.TrimSpace(fmt.Sprintf("%d tokens %s", n, dollars(info.CostUSD)))
	}
	_, err := io.WriteString(w, row("task", string(task.ID))+row("context", task.ContextID)+row("owner", info.Owner)+
		row("agent", info.Agent)+row("assigned", info.Assigned)+row("state", stateName(task.Status.State))+row("reason", info.Reason)+
		row("created", created)+row("changed", timeName(task.Status.Timestamp))+row("attempt", attempt)+row("spent", spent))
	return err
}

// print shows a task. info is nil for a server that is no Parley hub.
func (c *tasksGetCmd) print(task *a2a.Task, info *adminjson.TaskInfo, o *OS, open func(*a2a.Part) (io.ReadCloser, error)) error {
	sh := newShow(o, &c.output, false)
	sh.words.open = open
	if err := c.facts(o.Stdout, task, info); err != nil {
		return err
	}
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
	if info != nil {
		c.waits(o, task, info)
	}
	return sh.words.unsaved
}

// waits writes why a task does not proceed, and the address of its trace.
func (c *tasksGetCmd) waits(o *OS, task *a2a.Task, info *adminjson.TaskInfo) {
	if w := info.WaitingIn(task.Status.State); w.Held() {
		hub := c.hub()
		fmt.Fprintf(o.Stdout, "\nwaiting: %s\n", hub.reason(w))
	}
	if c.wide() && info.TraceURL != "" {
		fmt.Fprintf(o.Stdout, "\ntrace: %s\n", plain(info.TraceURL))
	}
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

type tasksCountCmd struct {
	hubFlags
	All   bool   `help:"The tasks of all owners, for administrators. The hub records it in its audit log."`
	Owner string `help:"Only the tasks of this owner, for administrators." placeholder:"OWNER"`
	Agent string `help:"Only the tasks of this agent." placeholder:"NAME"`
	format
}

func (c *tasksCountCmd) Run(ctx context.Context, o *OS) error {
	c.All = c.All || c.Owner != ""
	q := given(map[string]string{"scope": scopeName(c.All), "owner": c.Owner, "agent": c.Agent})
	none := false
	err := (&asking[adminjson.TaskCounts]{
		hubFlags: &c.hubFlags, request: "GET " + adminapi.Root + "/counts?" + q.Encode(), format: c.format,
		text: func(n *adminjson.TaskCounts) string {
			none = n.Total == 0
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
	if err == nil && none && !c.All {
		c.hintOthers(ctx, o, q)
	}
	return err
}
