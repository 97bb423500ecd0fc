package hubclient

import (
	"context"
	"net/http"
	"net/url"
	"strconv"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/client"
	"github.com/parley-a2a/parley/internal/adminjson"
	"github.com/parley-a2a/parley/internal/llm/agenttools"
	"github.com/parley-a2a/parley/llm"
)

// Tasks returns the tasks of the caller.
func (h *Hub) Tasks() agenttools.Tasks { return tasks{h} }

type tasks struct{ hub *Hub }

// task returns the hub's record of a task, which names its agent.
func (h *Hub) task(ctx context.Context, id a2a.TaskID) (*adminjson.TaskInfo, error) {
	var info adminjson.TaskInfo
	err := h.ask(ctx, &request{method: http.MethodGet, path: "/tasks/" + url.PathEscape(string(id)), out: &info, again: true})
	return &info, noTask(err)
}

// Following holds the options of Settled.
type Following struct {
	// Progress is called with each status of the task. It may be nil.
	Progress func(llm.Progress)
	// Anew also reports the statuses before the call.
	Anew bool
}

// Settled follows a task until it has ended or waits for its caller, and returns it. If ctx
// ends first, it returns the cause of ctx. It waits for an unreachable hub.
func (h *Hub) Settled(ctx context.Context, id a2a.TaskID, f Following) (*a2a.Task, error) {
	sent, err := tasks{h}.Get(ctx, id)
	if err != nil {
		return nil, orCause(ctx, err)
	}
	d := &delivery{hub: h, send: &agenttools.Send{Progress: f.Progress, Wait: -1}, agent: sent.Agent, id: id, begins: f.Anew}
	if d.client, err = h.agents(d.agent); err != nil {
		return nil, err
	}
	defer d.client.Close()
	d.fold.Apply(sent.Task)
	if d.shown = sent.Task.Status; f.Anew {
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
	return nil, orCause(ctx, told(err))
}

// orCause returns the cause of ctx if ctx has ended, else err.
func orCause(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// Get implements agenttools.Tasks.
func (t tasks) Get(ctx context.Context, id a2a.TaskID) (*agenttools.Sent, error) {
	none := 0
	return t.with(ctx, id, func(c *client.Client) (*a2a.Task, error) {
		return c.Get(ctx, &a2a.GetTaskRequest{ID: id, HistoryLength: &none})
	})
}

// Cancel implements agenttools.Tasks.
func (t tasks) Cancel(ctx context.Context, id a2a.TaskID) (*agenttools.Sent, error) {
	return t.with(ctx, id, func(c *client.Client) (*a2a.Task, error) {
		return c.Cancel(ctx, &a2a.CancelTaskRequest{ID: id})
	})
}

// with calls f for a task. It waits for an unreachable hub.
func (t tasks) with(ctx context.Context, id a2a.TaskID, f func(*client.Client) (*a2a.Task, error)) (*agenttools.Sent, error) {
	info, err := t.hub.task(ctx, id)
	if err != nil {
		return nil, err
	}
	c, err := t.hub.agents(info.Agent)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	sent := &agenttools.Sent{Agent: info.Agent}
	err = t.hub.patiently(ctx, func() (again bool, err error) {
		sent.Task, err = f(c)
		return passing(err), err
	})
	if err != nil {
		return nil, told(err)
	}
	return sent, nil
}

// List implements agenttools.Tasks.
func (t tasks) List(ctx context.Context, q *agenttools.TaskQuery) (*agenttools.TaskPage, error) {
	values := url.Values{}
	for name, v := range map[string]string{"agent": q.Agent, "context": q.ContextID, "state": string(q.State), "pageToken": q.PageToken} {
		if v != "" {
			values.Set(name, v)
		}
	}
	if q.Limit > 0 {
		values.Set("pageSize", strconv.Itoa(q.Limit))
	}
	var answer adminjson.TaskList
	if err := t.hub.ask(ctx, &request{method: http.MethodGet, path: "/tasks", query: values, out: &answer, again: true}); err != nil {
		return nil, err
	}
	page := &agenttools.TaskPage{NextPageToken: answer.NextPageToken}
	for _, i := range answer.Tasks {
		page.Tasks = append(page.Tasks, &agenttools.Sent{Agent: i.Agent, Task: &a2a.Task{
			ID: i.TaskID, ContextID: i.ContextID, Status: a2a.TaskStatus{State: a2a.TaskState(i.State), Timestamp: &i.ChangedAt},
		}})
	}
	return page, nil
}
