package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"golang.org/x/sync/errgroup"

	"github.com/parley-a2a/parley/client"
	"github.com/parley-a2a/parley/internal/adminjson"
	"github.com/parley-a2a/parley/internal/front/adminapi"
	"github.com/parley-a2a/parley/task"
)

type tasksCancelCmd struct {
	target
	format
	taskFilter
	Context string   `help:"Only tasks of this context; with --all, name its owner with --owner." placeholder:"ID"`
	All     bool     `help:"The tasks of all owners on a Parley hub, for administrators."`
	Yes     bool     `help:"Do not ask for a confirmation."`
	ID      []string `arg:"" optional:"" help:"The ids of the tasks, or their beginnings; without them, all open tasks that the flags select."`
}

// cancelsAtOnce is how many tasks a command cancels at a time: each waits for its agent.
const cancelsAtOnce = 8

// openStates are the states of tasks that can be canceled.
var openStates = []a2a.TaskState{a2a.TaskStateSubmitted, a2a.TaskStateWorking, a2a.TaskStateInputRequired, a2a.TaskStateAuthRequired}

// canceledTask is the result of a cancellation for one task.
type canceledTask struct {
	TaskID a2a.TaskID    `json:"taskId"`
	Owner  string        `json:"owner,omitempty"`
	State  a2a.TaskState `json:"state,omitempty"`
	// Error is why the task is not canceled.
	Error string `json:"error,omitempty"`
}

func (c *tasksCancelCmd) Run(in interrupts, o *OS) error {
	c.All = c.All || c.Owner != ""
	selects := c.All || c.Agent != "" || c.State != "" || c.Since != "" || c.Context != ""
	switch {
	case len(c.ID) > 0 && (c.All || c.State != "" || c.Since != "" || c.Context != ""):
		return usagef("give ids, or select the tasks with flags, not both")
	case len(c.ID) == 0 && !selects:
		return usagef("give the ids of tasks, or select them with --agent, --context, --state, --since, --owner or --all")
	case c.All && c.Context != "" && c.Owner == "":
		return usagef("--context needs --owner with --all: the contexts of different owners may have the same id")
	case len(c.ID) == 1:
		return c.one(in.soft, o)
	case len(c.ID) > 1:
		return c.call(in.soft, func(cl *client.Client) error { return c.each(in.soft, o, len(c.ID), c.byID(cl)) })
	}
	return c.selected(in.soft, o)
}

// one cancels the task with the only id, and prints its state.
func (c *tasksCancelCmd) one(ctx context.Context, o *OS) error {
	return c.call(ctx, func(cl *client.Client) error {
		t, err := c.cancel(ctx, cl, c.ID[0])
		if err != nil {
			return err
		}
		if c.data() {
			return c.encode(o.Stdout, t)
		}
		if o.Quiet {
			return nil
		}
		_, err = fmt.Fprintln(o.Stdout, stateName(t.Status.State))
		return err
	})
}

// cancel cancels the caller's task with an id or its beginning, or that of another owner for an administrator.
func (c *tasksCancelCmd) cancel(ctx context.Context, cl *client.Client, id string) (*a2a.Task, error) {
	if err := c.resolve(ctx, &id); err != nil {
		return nil, err
	}
	t, err := cl.Cancel(ctx, &a2a.CancelTaskRequest{ID: a2a.TaskID(id)})
	if err == nil || !c.onHub(cl) {
		return t, err
	}
	hub := c.hub()
	other, err := hub.ofOthers(ctx, id, err)
	if err != nil {
		return nil, err
	}
	done, err := hub.cancelFor(ctx, other)
	if err != nil {
		return nil, err
	}
	return &a2a.Task{ID: done.TaskID, ContextID: other.ContextID, Status: a2a.TaskStatus{State: done.State, Timestamp: &other.ChangedAt}}, nil
}

// byID returns a function that cancels the task with one of the ids.
func (c *tasksCancelCmd) byID(cl *client.Client) func(context.Context, int) (*canceledTask, error) {
	return func(ctx context.Context, i int) (*canceledTask, error) {
		t, err := c.cancel(ctx, cl, c.ID[i])
		if err != nil {
			return &canceledTask{TaskID: a2a.TaskID(c.ID[i])}, err
		}
		return &canceledTask{TaskID: t.ID, State: t.Status.State}, nil
	}
}

// cancelFor cancels the task of another owner for an administrator.
func (f *hubFlags) cancelFor(ctx context.Context, t *adminjson.TaskInfo) (*canceledTask, error) {
	var done adminapi.Operated
	err := f.ask(ctx, "POST "+taskPath(string(t.TaskID))+"/cancel", &adminapi.Operation{Owner: task.Owner(t.Owner)}, &done)
	return &canceledTask{TaskID: t.TaskID, Owner: t.Owner, State: a2a.TaskState(done.State)}, err
}

// selected cancels the open tasks that the flags select, after a confirmation. A task that ends by itself meanwhile is no
// error.
func (c *tasksCancelCmd) selected(ctx context.Context, o *OS) error {
	found, err := c.open(ctx)
	if err != nil {
		return err
	}
	if len(found) == 0 {
		if !o.Quiet {
			fmt.Fprintln(o.Stderr, "there are no such open tasks")
		}
		return nil
	}
	if ok, err := c.confirmed(o, found); !ok || err != nil {
		return err
	}
	hub := c.hub()
	if c.All {
		return c.each(ctx, o, len(found), func(ctx context.Context, i int) (*canceledTask, error) {
			t, err := hub.cancelFor(ctx, found[i])
			return hub.unlessEnded(ctx, "?"+url.Values{"scope": {"all"}, "owner": {t.Owner}}.Encode(), t, err)
		})
	}
	return c.call(ctx, func(cl *client.Client) error {
		return c.each(ctx, o, len(found), func(ctx context.Context, i int) (*canceledTask, error) {
			t := &canceledTask{TaskID: found[i].TaskID}
			done, err := cl.Cancel(ctx, &a2a.CancelTaskRequest{ID: t.TaskID})
			if err == nil {
				t.State = done.Status.State
			}
			return hub.unlessEnded(ctx, "", t, err)
		})
	})
}

// unlessEnded returns no error for a task that was not canceled because it has ended. query selects the task.
func (f *hubFlags) unlessEnded(ctx context.Context, query string, t *canceledTask, err error) (*canceledTask, error) {
	var info adminjson.TaskInfo
	if err != nil && f.ask(ctx, "GET "+taskPath(string(t.TaskID))+query, nil, &info) == nil && a2a.TaskState(info.State).Terminal() {
		t.State, err = a2a.TaskState(info.State), nil
	}
	return t, err
}

// open returns the open tasks that the flags select.
func (c *tasksCancelCmd) open(ctx context.Context) ([]*adminjson.TaskInfo, error) {
	req, err := c.request(time.Now())
	if err != nil {
		return nil, err
	}
	req.ContextID = c.Context
	states := openStates
	if req.Status != "" {
		states = []a2a.TaskState{req.Status}
	}
	if req.Status.Terminal() {
		return nil, usagef("--state %s: tasks that have ended cannot be canceled", c.State)
	}
	hub := c.hub()
	type key struct {
		owner string
		id    a2a.TaskID
	}
	var all []*adminjson.TaskInfo
	seen := make(map[key]bool) // a task may change its state between two lists
	for _, req.Status = range states {
		list := pages(ctx, &hub, adminapi.Root+"/tasks?"+c.query(req, c.Agent, c.All).Encode(), func(p *adminjson.TaskList) ([]adminjson.TaskInfo, string) {
			return p.Tasks, nextPage("pageToken", p.NextPageToken)
		})
		for t, err := range list {
			if err != nil {
				return nil, c.advise(err)
			}
			if k := (key{t.Owner, t.TaskID}); !seen[k] {
				seen[k], all = true, append(all, t)
			}
		}
	}
	return all, nil
}

// confirmed asks whether the tasks are to be canceled.
func (c *tasksCancelCmd) confirmed(o *OS, found []*adminjson.TaskInfo) (bool, error) {
	if c.Yes {
		return true, nil
	}
	counts := make(map[string]int)
	for _, t := range found {
		counts[t.State]++
	}
	var states []string
	for _, s := range openStates {
		if n := counts[s.String()]; n > 0 {
			states = append(states, fmt.Sprintf("%d %s", n, stateName(s)))
		}
	}
	n := fmt.Sprintf("%s (%s)", counted(len(found), "task"), strings.Join(states, ", "))
	if !o.Typed {
		return false, usagef("%s would be canceled: confirm with --yes", n)
	}
	fmt.Fprintf(o.Stderr, "Cancel %s? [y/N] ", n)
	line, err := bufio.NewReader(o.Stdin).ReadString('\n')
	if answer := strings.ToLower(strings.TrimSpace(line)); answer == "y" || answer == "yes" {
		return true, nil
	}
	if err != nil {
		fmt.Fprintln(o.Stderr)
	}
	return false, &exit{exitFailed, errors.New("nothing was canceled")}
}

// each cancels n tasks, several at a time, and prints the result of each.
func (c *tasksCancelCmd) each(ctx context.Context, o *OS, n int, cancel func(ctx context.Context, i int) (*canceledTask, error)) error {
	var mu sync.Mutex // guards errs and the output
	var errs []error
	var group errgroup.Group
	group.SetLimit(cancelsAtOnce)
	for i := range n {
		group.Go(func() error {
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			t, err := cancel(ctx, i)
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				t.Error = err.Error()
				errs = append(errs, err)
			}
			return c.result(o, t)
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	if len(errs) > 0 {
		return &notCanceled{len(errs), n, errs}
	}
	return nil
}

// result prints the result for a task.
func (c *tasksCancelCmd) result(o *OS, t *canceledTask) error {
	if c.data() {
		return c.encode(o.Stdout, t)
	}
	if t.Error != "" {
		_, err := fmt.Fprintf(o.Stderr, "%s: %s\n", plain(string(t.TaskID)), plain(t.Error))
		return err
	}
	if o.Quiet {
		return nil
	}
	_, err := fmt.Fprintf(o.Stdout, "%s\t%s\n", plain(string(t.TaskID)), stateName(t.State))
	return err
}

// notCanceled is the error for tasks that could not be canceled. Their own errors were printed.
type notCanceled struct {
	n, of int
	errs  []error
}

func (e *notCanceled) Error() string {
	return fmt.Sprintf("%d of %s are not canceled", e.n, counted(e.of, "task"))
}

// Unwrap returns the errors of the tasks.
func (e *notCanceled) Unwrap() []error { return e.errs }
