package console

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"sync"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/internal/adminjson"
)

const (
	// maxStopped is the maximum number of tasks that are stopped with one form.
	maxStopped = 100
	// stopsAtOnce is the number of tasks that are stopped at the same time, and stopTime the time for all of them.
	// Agents have ten seconds to confirm.
	stopsAtOnce = 50
	stopTime    = 30 * time.Second
)

// openStates are the states of tasks that have not ended.
var openStates = states[:4]

// stopView is the page that asks whether to stop tasks, and then shows the results.
type stopView struct {
	Tasks  []stopTask
	Filter filter
	// More is set if further tasks match the filter.
	More bool
	// Done is set for results, and Canceled is the number of tasks that are canceled.
	Done     bool
	Canceled int
}

// stopTask is a task to stop, and then the result.
type stopTask struct {
	adminjson.TaskInfo
	// Result is the outcome; OK is set for a task that is canceled.
	Result string
	OK     bool
}

// Key is the value of the task in a form.
func (t stopTask) Key() string { return taskKey(string(t.TaskID), t.Owner) }

// taskKey is the value of a task in a form.
func taskKey(id, owner string) string { return query("id", id, "owner", owner) }

// stop asks whether to stop tasks, and stops them once the person has confirmed.
func stop(p *page) error {
	v := stopView{Filter: p.filterOf(taskFields)}
	var err error
	switch verb := p.r.PostFormValue("verb"); verb {
	case "all":
		v.Tasks, v.More, err = p.matching(v.Filter)
	case "chosen", "stop":
		keys := p.r.PostForm["task"]
		if v.More = len(keys) > maxStopped; v.More {
			keys = keys[:maxStopped]
		}
		v.Tasks, err = p.chosen(keys)
		if v.Done = verb == "stop"; v.Done && err == nil {
			v.Canceled = p.stopAll(v.Tasks)
		}
	default:
		err = &refusal{Code: http.StatusBadRequest, Message: "Choose the tasks to stop, or all that match the filter."}
	}
	if err != nil {
		return err
	}
	p.show(http.StatusOK, "stop", v)
	return nil
}

// matching returns the open tasks that match a filter.
func (p *page) matching(f filter) (all []stopTask, more bool, err error) {
	for _, state := range openStates {
		if f["state"] != "" && f["state"] != state {
			continue
		}
		narrow := maps.Clone(f)
		narrow["state"] = state
		list, err := p.taskList(narrow, "", rowsAtOnce)
		if err != nil {
			return nil, false, err
		}
		p.others(list.Tasks)
		for i := range list.Tasks {
			all = append(all, stopTask{TaskInfo: list.Tasks[i]})
		}
		more = more || list.NextPageToken != ""
	}
	if len(all) > maxStopped {
		return all[:maxStopped], true, nil
	}
	return all, more, nil
}

// chosen reads the tasks of the keys that a form has.
func (p *page) chosen(keys []string) (all []stopTask, err error) {
	for _, key := range keys {
		of, err := url.ParseQuery(key)
		if err != nil || of.Get("id") == "" {
			return nil, &refusal{Code: http.StatusBadRequest, Message: "The form is invalid. Choose the tasks again."}
		}
		t := stopTask{TaskInfo: adminjson.TaskInfo{Owner: p.other(of.Get("owner"))}}
		t.TaskID = a2a.TaskID(of.Get("id"))
		scope := ""
		if t.Owner != "" {
			scope = "all"
		}
		var l adminjson.TaskLog
		err = p.get("/api/v1/tasks/"+segment(of.Get("id"))+"/log?"+query("limit", 1, "scope", scope, "owner", t.Owner), &l)
		switch refused := refusedBy(err); {
		case refused != nil && refused.Code == http.StatusUnauthorized, err != nil && refused == nil:
			return nil, err
		case refused != nil:
			t.Result = refused.Message
		default:
			owner := t.Owner
			t.TaskInfo, t.Owner = l.Task, owner
			if ended(t.State) {
				t.Result = "has ended already"
			}
		}
		all = append(all, t)
	}
	return all, nil
}

// stopAll cancels tasks and notes the results. It returns the number of those that are canceled.
func (p *page) stopAll(all []stopTask) (canceled int) {
	ctx, cancel := context.WithTimeout(p.r.Context(), stopTime)
	defer cancel()
	places := make(chan struct{}, stopsAtOnce)
	var work sync.WaitGroup
	for i := range all {
		if t := &all[i]; t.Result == "" {
			places <- struct{}{}
			work.Go(func() {
				defer func() { <-places }()
				t.Result, t.OK = p.stopOne(ctx, t)
			})
		}
	}
	work.Wait()
	for i := range all {
		if all[i].OK {
			canceled++
		}
	}
	return canceled
}

// stopOne cancels a task: as its caller, or as an operator if it belongs to another owner.
func (p *page) stopOne(ctx context.Context, t *stopTask) (result string, ok bool) {
	path, body := "/v1/a2a/tasks/"+segment(string(t.TaskID))+":cancel", any(struct{}{})
	if t.Owner != "" {
		path, body = "/api/v1/tasks/"+segment(string(t.TaskID))+"/cancel", map[string]any{"owner": t.Owner}
	}
	resp, err := p.call(ctx, http.MethodPost, path, body)
	refused := refusedBy(err)
	switch {
	case refused != nil:
		return refused.Message, false
	case ctx.Err() != nil:
		return fmt.Sprintf("was asked to stop, and has not confirmed within %v", stopTime), false
	case err != nil:
		return "cannot be reached", false
	}
	_ = resp.Body.Close()
	return "canceled", true
}
