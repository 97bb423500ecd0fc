package hubclient

import (
	"context"
	"net/http"
	"net/url"
	"strconv"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/client"
	"github.com/parley-a2a/parley/internal/adminjson"
	"github.com/parley-a2a/parley/internal/llm"
)

// taskInfo returns the hub's record of a task, which names its agent.
func (h *Hub) taskInfo(ctx context.Context, id a2a.TaskID) (*adminjson.TaskInfo, error) {
	var info adminjson.TaskInfo
	err := h.ask(ctx, &request{method: http.MethodGet, path: apiRoot + "/tasks/" + url.PathEscape(string(id)), out: &info, again: true})
	return &info, noTask(err)
}

// FollowOptions holds the options of Follow.
type FollowOptions struct {
	// Progress is called with each status of the task. It may be nil.
	Progress func(llm.Progress)
	// FromStart also reports the statuses before the call.
	FromStart bool
}

// Follow follows a task until it has ended or waits for its caller, and returns it. If ctx
// ends first, it returns the cause of ctx. It waits for an unreachable hub.
func (h *Hub) Follow(ctx context.Context, id a2a.TaskID, f FollowOptions) (*a2a.Task, error) {
	sent, err := h.Task(ctx, id)
	if err != nil {
		return nil, orCause(ctx, err)
	}
	d := &delivery{hub: h, send: &Send{Progress: f.Progress, Wait: -1}, agent: sent.Agent, id: id, begins: f.FromStart}
	if d.client, err = h.client(d.agent); err != nil {
		return nil, err
	}
	defer d.client.Close()
	d.fold.Apply(sent.Task)
	if d.shown = sent.Task.Status; f.FromStart {
		d.begin()
	}
	if !d.settled() {
		err = d.follow(ctx)
	}
	switch {
	case d.settled():
		return d.fold.Task, nil
	case err == nil:
		err = client.ErrCut
	}
	return nil, orCause(ctx, callError(err))
}

// orCause returns the cause of ctx if ctx has ended, else err.
func orCause(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// Task returns a task with its artifacts.
func (h *Hub) Task(ctx context.Context, id a2a.TaskID) (*Sent, error) {
	none := 0
	return h.withTask(ctx, id, func(c *client.Client) (*a2a.Task, error) {
		return c.Get(ctx, &a2a.GetTaskRequest{ID: id, HistoryLength: &none})
	})
}

// Cancel requests the cancellation of a task and returns the task.
func (h *Hub) Cancel(ctx context.Context, id a2a.TaskID) (*Sent, error) {
	return h.withTask(ctx, id, func(c *client.Client) (*a2a.Task, error) {
		return c.Cancel(ctx, &a2a.CancelTaskRequest{ID: id})
	})
}

// withTask calls f for a task. It waits for an unreachable hub.
func (h *Hub) withTask(ctx context.Context, id a2a.TaskID, f func(*client.Client) (*a2a.Task, error)) (*Sent, error) {
	info, err := h.taskInfo(ctx, id)
	if err != nil {
		return nil, err
	}
	c, err := h.client(info.Agent)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	sent := &Sent{Agent: info.Agent}
	err = h.retry(ctx, func() (again bool, err error) {
		sent.Task, err = f(c)
		return temporary(err), err
	})
	if err != nil {
		return nil, callError(err)
	}
	if sent.Task != nil {
		sent.Waiting = info.WaitingIn(sent.Task.Status.State).HeldBy()
	}
	return sent, nil
}

// TaskQuery selects tasks. Zero fields do not restrict the selection.
type TaskQuery struct {
	Agent, ContextID string
	State            a2a.TaskState
	// Limit is the largest number of tasks; zero means the hub's default. PageToken continues a
	// list.
	Limit     int
	PageToken string
}

// Tasks returns tasks of the caller without their messages, the most recently changed first.
func (h *Hub) Tasks(ctx context.Context, q *TaskQuery) (*adminjson.TaskList, error) {
	list := new(adminjson.TaskList)
	values := parameters("agent", q.Agent, "context", q.ContextID, "state", string(q.State), "pageToken", q.PageToken, "pageSize", count(q.Limit))
	return list, h.ask(ctx, &request{method: http.MethodGet, path: apiRoot + "/tasks", query: values, out: list, again: true})
}

// parameters returns the query of names and values without the empty values.
func parameters(pairs ...string) url.Values {
	values := make(url.Values)
	for i := 0; i < len(pairs); i += 2 {
		if pairs[i+1] != "" {
			values.Set(pairs[i], pairs[i+1])
		}
	}
	return values
}

// count returns a limit as a parameter; zero is no limit.
func count(n int) string {
	if n <= 0 {
		return ""
	}
	return strconv.Itoa(n)
}
