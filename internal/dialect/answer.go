package dialect

import (
	"strconv"

	"github.com/parley-a2a/parley/internal/json/rawjson"
	"github.com/parley-a2a/parley/internal/op"
	"github.com/parley-a2a/parley/internal/task"
)

// AppendTask appends a Task (specification §4.1.1): the result of GetTask and CancelTask. On
// REST the history is present even if it is empty, unless the caller requested none. For readers of
// messages the status of a completed task has a message.
func AppendTask(dst []byte, a *op.Answer, s Surface) []byte {
	o := taskOptions(a, s)
	o.Artifacts = true
	return a.Fold.AppendTask(dst, &a.Head, o)
}

func taskOptions(a *op.Answer, s Surface) task.TaskOptions {
	none := a.History != nil && *a.History == 0
	return task.TaskOptions{History: a.History, EmptyHistory: (s == REST || s == RESTMessages) && !none, Answer: s == RESTMessages || s == RPCMessages}
}

// AppendSendResponse appends a SendMessageResponse (specification §3.2.2), which is also the
// shape of a stream's first frame: {"task":…} or {"message":…}.
func AppendSendResponse(dst []byte, a *op.Answer, s Surface) []byte {
	if a.Message != nil {
		dst = append(dst, `{"message":`...)
		return append(append(dst, a.Message...), '}')
	}
	return append(AppendTask(append(dst, `{"task":`...), a, s), '}')
}

// AppendPage appends a ListTasksResponse (specification §3.1.4). All four fields are always
// present. The artifacts of a task are absent unless the caller requested them; then they are
// present even if the task has none.
func AppendPage(dst []byte, p *op.Page, s Surface) []byte {
	dst = append(dst, `{"tasks":[`...)
	for i := range p.Tasks {
		if i > 0 {
			dst = append(dst, ',')
		}
		a := &p.Tasks[i]
		o := taskOptions(a, s)
		o.Artifacts, o.EmptyArtifacts = p.Artifacts, p.Artifacts
		dst = a.Fold.AppendTask(dst, &a.Head, o)
	}
	dst = rawjson.AppendString(append(dst, `],"nextPageToken":`...), p.NextPageToken)
	dst = strconv.AppendInt(append(dst, `,"pageSize":`...), int64(p.PageSize), 10)
	dst = strconv.AppendInt(append(dst, `,"totalSize":`...), int64(p.TotalSize), 10)
	return append(dst, '}')
}
