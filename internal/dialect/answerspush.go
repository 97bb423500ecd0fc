package dialect

import (
	"strings"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/internal/apierror"
	"github.com/parley-a2a/parley/internal/json/a2ajson"
	"github.com/parley-a2a/parley/internal/json/rawjson"
)

// readPushAnswer appends a TaskPushNotificationConfig of any dialect. The config is flat, or a
// member beside the id of the task or a resource name.
func readPushAnswer(dst, obj []byte) ([]byte, error) {
	if rawjson.KindOf(obj) != rawjson.Object {
		return dst, a2ajson.Invalid("must be an object")
	}
	config := obj
	if inner := member(obj, "pushNotificationConfig"); rawjson.KindOf(inner) == rawjson.Object {
		config = inner
	}
	name, _ := rawjson.String(member(obj, "name"))
	name = strings.TrimPrefix(name, "tasks/")
	task, id, _ := strings.Cut(name, "/pushNotificationConfigs/")
	dst = append(dst, '{')
	dst = appendFirst(dst, "taskId", task, member(obj, "taskId"), member(config, "taskId"))
	dst = appendFirst(dst, "id", id, member(config, "id"))
	for name, v := range rawjson.Fields(config) {
		switch name {
		case "taskId", "id", "name", "pushNotificationConfig":
		case "authentication":
			dst = appendAuthAnswer(dst, v)
		default:
			if rawjson.KindOf(v) != rawjson.Null {
				dst = rawjson.AppendCompact(rawjson.AppendName(dst, name), v)
			}
		}
	}
	return append(dst, '}'), nil
}

// appendFirst appends the first of the values that is a string, or else otherwise.
func appendFirst(dst []byte, name, otherwise string, values ...[]byte) []byte {
	for _, v := range values {
		if rawjson.KindOf(v) == rawjson.Text && !isText(v, "") {
			return append(rawjson.AppendName(dst, name), v...)
		}
	}
	if otherwise == "" {
		return dst
	}
	return rawjson.AppendString(rawjson.AppendName(dst, name), otherwise)
}

// appendAuthAnswer appends an authentication with one scheme, if v has any.
func appendAuthAnswer(dst, v []byte) []byte {
	scheme := member(v, "scheme")
	for s := range rawjson.Elements(member(v, "schemes")) {
		if scheme == nil {
			scheme = s
		}
	}
	if rawjson.KindOf(scheme) != rawjson.Text {
		return dst
	}
	dst = append(append(rawjson.AppendName(dst, "authentication"), `{"scheme":`...), scheme...)
	if c := member(v, "credentials"); rawjson.KindOf(c) == rawjson.Text {
		dst = append(append(dst, `,"credentials":`...), c...)
	}
	return append(dst, '}')
}

// pushAnswers returns a page of configs; v0.3 answers with a bare list.
func (r *answers) pushAnswers(wire []byte) ([]byte, error) {
	list := wire
	if rawjson.KindOf(wire) == rawjson.Object {
		if list = member(wire, "configs"); list == nil {
			list = []byte("[]")
		}
	}
	out, err := r.list([]byte(`{"configs":`), list, readPushAnswer)
	if err != nil {
		return nil, a2ajson.Under("configs", err)
	}
	if v := member(wire, "nextPageToken"); rawjson.KindOf(v) == rawjson.Text && !isText(v, "") {
		out = append(rawjson.AppendName(out, "nextPageToken"), v...)
	}
	return append(out, '}'), nil
}

// JobAnswer is the answer of an agent to a job.
type JobAnswer struct {
	// JSON is the v1.0 StreamResponse; it is nil if the agent refused the job.
	JSON []byte
	// Code and Message are those of an AgentTaskError; Code is empty for a result.
	Code, Message string
	// Retryable is set if the error states that the same request may succeed later.
	Retryable bool
}

// ReadJobAnswer reads the answer to POST /tasks/send: an AgentTaskResult or an AgentTaskError.
// job is the id that the hub sent, and task is the id to give to the resulting task. Errors are
// those of ReadFrame, with a *Partial as well; the result of another job is an error, too.
func ReadJobAnswer(job, task a2a.TaskID, wire []byte) (JobAnswer, error) {
	if err := a2ajson.Check(wire, 0); err != nil {
		return JobAnswer{}, blamePeer(err)
	}
	if code, ok := rawjson.String(member(wire, "code")); ok && member(wire, "state") == nil {
		message, _ := rawjson.String(member(wire, "message"))
		return JobAnswer{Code: code, Message: message, Retryable: string(member(wire, "isRetryable")) == "true"}, nil
	}
	if other := textOf(wire, "taskId"); other != "" && other != string(job) {
		return JobAnswer{}, apierror.New(a2a.ErrInvalidAgentResponse, "the result of job %s, and not of %s", clip(other), job)
	}
	r := answers{shape: Job}
	out, err := r.task([]byte(`{"task":`), jobTask(task, wire))
	if err != nil {
		return JobAnswer{}, blamePeer(err)
	}
	return JobAnswer{JSON: append(out, '}')}, r.partial()
}

// jobTask converts an AgentTaskResult into a task.
func jobTask(id a2a.TaskID, wire []byte) []byte {
	out := rawjson.AppendString([]byte(`{"id":`), string(id))
	status := []byte{'{'}
	for name, v := range rawjson.Fields(wire) {
		switch {
		case name == "taskId" || rawjson.KindOf(v) == rawjson.Null:
		case name == "message":
			status = rawjson.RewriteObject(rawjson.AppendName(status, name), v, func(dst []byte, name string, v []byte) []byte {
				if name == "metadata" {
					v = untexted(v)
				}
				return append(dst, v...)
			})
		case name == "state":
			status = append(rawjson.AppendName(status, name), readJobState(v)...)
		default:
			out = append(rawjson.AppendName(out, name), v...)
		}
	}
	return append(append(append(rawjson.AppendName(out, "status"), status...), '}'), '}')
}

// Sentinel returns the protocol error that corresponds to the code of an AgentTaskError.
func (a *JobAnswer) Sentinel() error {
	switch a.Code {
	case "task_not_found":
		return a2a.ErrTaskNotFound
	case "task_not_cancelable":
		return a2a.ErrTaskNotCancelable
	case "skill_not_supported", "invalid_request":
		return a2a.ErrInvalidParams
	}
	return a2a.ErrServerError
}
