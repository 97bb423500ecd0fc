package dialect

import (
	"strconv"

	"github.com/parley-a2a/parley/internal/json/rawjson"
	"github.com/parley-a2a/parley/task"
)

// Answer is what a caller is shown: a task as it was at one moment, or a bare
// message.
type Answer struct {
	// Head is the head of the task at the version of Fold.
	Head *task.Head
	// Fold is the whole task. Without it the task is shown without history and
	// artifacts.
	Fold *task.Fold
	// Message is a bare message as v1.0 JSON; if set, there is no task.
	Message []byte
	// History limits the history to show; nil means all of it.
	History *int
}

// Page is a page of tasks.
type Page struct {
	Tasks         []Answer
	NextPageToken string
	PageSize      int
	TotalSize     int
	// Artifacts shows the artifacts of each task, even if there are none.
	Artifacts bool
}

// AppendTask appends a Task (specification §4.1.1): the result of GetTask and
// CancelTask. On REST the history is there even when it is empty, unless the
// caller asked for none.
func AppendTask(dst []byte, a *Answer, s Surface) []byte {
	o := taskOptions(a, s)
	o.Artifacts = true
	return a.Fold.AppendTask(dst, a.Head, o)
}

func taskOptions(a *Answer, s Surface) task.TaskOptions {
	none := a.History != nil && *a.History == 0
	return task.TaskOptions{History: a.History, EmptyHistory: s == REST && !none}
}

// AppendSendResponse appends a SendMessageResponse (specification §3.2.2), which
// has the shape of a stream's first frame too: {"task":…} or {"message":…}.
func AppendSendResponse(dst []byte, a *Answer, s Surface) []byte {
	if a.Message != nil {
		dst = append(dst, `{"message":`...)
		return append(append(dst, a.Message...), '}')
	}
	return append(AppendTask(append(dst, `{"task":`...), a, s), '}')
}

// AppendPage appends a ListTasksResponse (specification §3.1.4). All four fields
// are always there. The artifacts of a task are absent unless they were asked
// for, and then present even when there are none.
func AppendPage(dst []byte, p *Page, s Surface) []byte {
	dst = append(dst, `{"tasks":[`...)
	for i := range p.Tasks {
		if i > 0 {
			dst = append(dst, ',')
		}
		a := &p.Tasks[i]
		o := taskOptions(a, s)
		o.Artifacts, o.EmptyArtifacts = p.Artifacts, p.Artifacts
		dst = a.Fold.AppendTask(dst, a.Head, o)
	}
	dst = rawjson.AppendString(append(dst, `],"nextPageToken":`...), p.NextPageToken)
	dst = strconv.AppendInt(append(dst, `,"pageSize":`...), int64(p.PageSize), 10)
	dst = strconv.AppendInt(append(dst, `,"totalSize":`...), int64(p.TotalSize), 10)
	return append(dst, '}')
}
