package dialect

import (
	"slices"
	"strconv"
	"strings"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/internal/apierror"
	"github.com/parley-a2a/parley/internal/json/a2ajson"
	"github.com/parley-a2a/parley/internal/json/rawjson"
	"github.com/parley-a2a/parley/internal/op"
	"github.com/parley-a2a/parley/task"
)

// An agent that accepts only jobs has one operation, POST /tasks/send. The request carries the
// caller's own task id, and the response is the result once the task has ended. The exchange of a
// part may carry the same object.

// Jobs returns the dialect Job under a name. JSON-RPC calls about its tasks are of the dialect calls.
func Jobs(name string, calls Shape) *Dialect {
	return &Dialect{
		Shape: Job, Name: name, Codec: Codec{Field: jobField}, Calls: Calls{About: calls}, Calling: Calling{Part: readJobPartOf},
	}
}

// ForJob completes a job, or a message of another client of the same system. Its skill "general" means none, unless offers
// reports that the agent offers it. A message for an unknown skill goes to the owner of the hub.
func ForJob(r *op.Send, offers func(name task.Agent, skill string) bool) {
	r.Observe = true
	if strings.EqualFold(r.Message.Skill, GeneralSkill) && !offers(r.Agent, r.Message.Skill) {
		r.Message.Skill = ""
	}
}

const (
	jobTaskID = iota
	jobContextID
	jobSkill
	jobMetadata
	jobMessage
)

var jobSchema = a2ajson.NewSchema("taskId", "contextId", "skill", "metadata", "message")

// Job reads the body of POST /tasks/send. Errors are also those of Body.
func (d *Decoder) Job(body []byte) (*op.Send, error) {
	if err := d.Body(body); err != nil {
		return nil, err
	}
	params, err := jobParams(body)
	if err != nil {
		return nil, err
	}
	return d.Send(params)
}

// jobParams returns the v1.0 params of an AgentTaskRequest.
func jobParams(body []byte) ([]byte, error) {
	var fields [jobMessage + 1][]byte
	err := jobSchema.Each(body, func(i int, _ string, v []byte) error {
		if i != a2ajson.Unknown {
			fields[i] = v
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	if fields[jobTaskID] == nil || isText(fields[jobTaskID], "") {
		return nil, required("taskId")
	}
	if fields[jobMessage] == nil {
		return nil, required("message")
	}
	out := append(make([]byte, 0, len(body)+64), `{"taskId":`...)
	out = append(out, fields[jobTaskID]...)
	if v := fields[jobContextID]; v != nil {
		out = append(append(out, `,"contextId":`...), v...)
	}
	if out, err = appendJobMetadata(out, fields[jobMetadata], fields[jobSkill]); err != nil {
		return nil, err
	}
	if out, err = appendJobMessage(append(out, `,"message":`...), fields[jobMessage]); err != nil {
		return nil, a2ajson.Under("message", err)
	}
	return append(out, '}'), nil
}

// jobField returns the name of a v1.0 params field in a job, which has the ids of its message
// at the top level.
func jobField(_ Operation, v1 string) string {
	switch v1 {
	case "message.taskId", "message.contextId":
		return strings.TrimPrefix(v1, "message.")
	}
	return v1
}

// appendJobMetadata appends the metadata of a job including its skill, which jobs have in a
// field of their own.
func appendJobMetadata(dst, metadata, skill []byte) ([]byte, error) {
	if skill != nil && rawjson.KindOf(skill) != rawjson.Text {
		return dst, a2ajson.Under("skill", a2ajson.Invalid("must be a string"))
	}
	if metadata != nil && rawjson.KindOf(metadata) != rawjson.Object {
		return dst, a2ajson.Under("metadata", a2ajson.Invalid("must be an object"))
	}
	dst = append(dst, `,"metadata":{`...)
	for name, v := range rawjson.Fields(untexted(metadata)) {
		if name != "skill" || skill == nil {
			dst = append(rawjson.AppendName(dst, name), v...)
		}
	}
	if skill != nil {
		dst = append(rawjson.AppendName(dst, "skill"), skill...)
	}
	return append(dst, '}'), nil
}

func appendJobMessage(dst, msg []byte) ([]byte, error) {
	if rawjson.KindOf(msg) != rawjson.Object {
		return dst, a2ajson.Invalid("must be an object")
	}
	dst = append(dst, '{')
	for name, v := range rawjson.Fields(msg) {
		switch name {
		case "taskId", "contextId":
			// The ids of the job count.
		case "parts":
			var err error
			if dst, err = readParts(rawjson.AppendName(dst, name), v, readJobPart); err != nil {
				return dst, a2ajson.Under(name, err)
			}
		case "metadata":
			dst = append(rawjson.AppendName(dst, name), untexted(v)...)
		default:
			dst = append(rawjson.AppendName(dst, name), v...)
		}
	}
	return append(dst, '}'), nil
}

// readJobPart appends a part in the shape of v1.0: the member named by its kind, without the
// other members, which may be null. Data is the JSON parsed from its string. A string without
// valid JSON stays a string, and the part's metadata records that.
func readJobPart(dst, part []byte) ([]byte, error) {
	kind, ok := rawjson.String(member(part, "kind"))
	if !ok || kind != "text" && kind != "data" {
		return dst, a2ajson.Under("kind", a2ajson.Invalid("must be text or data"))
	}
	if member(part, kind) == nil {
		return dst, required(kind)
	}
	mark := false
	dst = append(dst, '{')
	for name, v := range rawjson.Fields(part) {
		switch {
		case name == "kind", rawjson.KindOf(v) == rawjson.Null && name != kind:
		case name == "text" && name == kind && rawjson.KindOf(v) == rawjson.Null:
			dst = append(rawjson.AppendName(dst, name), `""`...)
		case name == "data" && name == kind && rawjson.KindOf(v) == rawjson.Text:
			held := heldJSON(v)
			if mark = held == nil; mark {
				held = v
			}
			dst = append(rawjson.AppendName(dst, name), held...)
		case (name == "text" || name == "data") && name != kind:
			return dst, a2ajson.Under(name, a2ajson.Invalid("does not belong to a part of kind %s", kind))
		default:
			dst = append(rawjson.AppendName(dst, name), v...)
		}
	}
	if mark && member(part, "metadata") == nil {
		dst = append(rawjson.AppendName(dst, "metadata"), withMark([]byte("{}"), notJSON)...)
	}
	return append(dst, '}'), nil
}

// AppendJobResult appends the AgentTaskResult of a v1.0 Task. The id is the caller's id of the
// job.
func AppendJobResult(dst []byte, id a2a.TaskID, v1 []byte) []byte {
	status := member(v1, "status")
	dst = rawjson.AppendString(append(dst, `{"taskId":`...), string(id))
	if v := member(v1, "contextId"); v != nil {
		dst = append(append(dst, `,"contextId":`...), v...)
	}
	dst = strconv.AppendInt(append(dst, `,"state":`...), int64(jobState(member(status, "state"))), 10)
	if v := member(v1, "artifacts"); v != nil {
		dst = rawjson.RewriteList(append(dst, `,"artifacts":`...), v, appendJobArtifact)
	}
	if v := member(status, "message"); v != nil {
		dst = appendJobAnswer(append(dst, `,"message":`...), v)
	}
	return append(dst, '}')
}

// AppendJobStatus appends an AgentTaskStatusUpdate of a running job, with a v1.0 message unless
// that is nil.
func AppendJobStatus(dst []byte, id a2a.TaskID, message []byte) []byte {
	dst = append(rawjson.AppendString(append(dst, `{"taskId":`...), string(id)), `,"state":1`...)
	if message != nil {
		dst = appendJobAnswer(append(dst, `,"message":`...), message)
	}
	return append(dst, '}')
}

// jobStates are the states of jobs in the order of their numbers. A job has the
// number, and its readers accept nothing else.
var jobStates = [...]a2a.TaskState{
	a2a.TaskStateSubmitted, a2a.TaskStateWorking, a2a.TaskStateInputRequired,
	a2a.TaskStateCompleted, a2a.TaskStateFailed, a2a.TaskStateCanceled,
}

// jobState returns the number of a job for a v1.0 state. Rejected tasks and tasks that require
// credentials have none of their own.
func jobState(v []byte) int {
	name, _ := rawjson.String(v)
	state := a2a.TaskState(name)
	switch state {
	case a2a.TaskStateRejected:
		state = a2a.TaskStateFailed
	case a2a.TaskStateAuthRequired:
		state = a2a.TaskStateInputRequired
	}
	return max(slices.Index(jobStates[:], state), 0)
}

// readJobState returns a state of a job as JSON: the v1.0 name for a number, any other
// value unchanged.
func readJobState(v []byte) []byte {
	if n, ok := rawjson.Int(v); ok && 0 <= n && n < int64(len(jobStates)) {
		return rawjson.AppendString(nil, string(jobStates[n]))
	}
	if rawjson.KindOf(v) == rawjson.Number {
		return rawjson.AppendString(nil, string(v)) // not a number of the protocol either
	}
	return v
}

var (
	jobArtifact     = rawjson.Members{"parts": rawjson.ListOf(appendJobPart)}
	appendJobAnswer = rawjson.Members{"role": appendPlainRole, "parts": rawjson.ListOf(appendJobPart), "metadata": appendTextMetadata}.Append
)

// appendJobArtifact appends an artifact. Readers of jobs require it to have a name.
func appendJobArtifact(dst, artifact []byte) []byte {
	dst = jobArtifact.Append(dst, artifact)
	if id := member(artifact, "artifactId"); member(artifact, "name") == nil && id != nil {
		dst = append(append(rawjson.AppendName(dst[:len(dst)-1], "name"), id...), '}')
	}
	return dst
}

// appendJobPart appends a part with its kind. Data becomes a string of JSON. A file becomes
// data, because jobs have no kind for files.
func appendJobPart(dst, part []byte) []byte {
	name, _ := contentOf(part)
	switch name {
	case "text":
		dst = append(dst, `{"kind":"text"`...)
	case "data":
		dst = append(dst, `{"kind":"data"`...)
	default:
		dst = appendHeld(append(dst, `{"kind":"data","data":`...), part)
		return append(dst, '}')
	}
	for name, v := range rawjson.Fields(part) {
		switch name {
		case "kind":
			continue
		case "data":
			dst = appendHeld(rawjson.AppendName(dst, name), v)
			continue
		case "mediaType":
			name = "mimeType"
		}
		dst = append(rawjson.AppendName(dst, name), v...)
	}
	return append(dst, '}')
}

// AppendJobError appends the AgentTaskError that answers the request in body, with the ids that
// can be read from body.
func (r *Report) AppendJobError(dst, body []byte) []byte {
	dst = append(dst, '{')
	for _, name := range [...]string{"taskId", "contextId"} {
		if id, ok := rawjson.String(member(body, name)); ok {
			dst = rawjson.AppendString(rawjson.AppendName(dst, name), id)
		}
	}
	dst = rawjson.AppendString(rawjson.AppendName(dst, "code"), r.jobCode())
	dst = rawjson.AppendString(rawjson.AppendName(dst, "message"), r.Message)
	dst = strconv.AppendBool(rawjson.AppendName(dst, "isRetryable"), r.retryable())
	return append(dst, '}')
}

// jobCode returns the code of the error in a job.
func (r *Report) jobCode() string {
	switch r.Sentinel {
	case a2a.ErrTaskNotFound:
		return "task_not_found"
	case a2a.ErrTaskNotCancelable:
		return "task_not_cancelable"
	case a2a.ErrInvalidParams:
		for _, v := range r.Violations {
			if v.Field == "metadata.skill" {
				return "skill_not_supported"
			}
		}
		return "invalid_request"
	case a2a.ErrInvalidRequest, a2a.ErrParseError, a2a.ErrMethodNotFound, a2a.ErrUnsupportedContentType,
		a2a.ErrVersionNotSupported, apierror.ErrMediaType, apierror.ErrTooLarge:
		return "invalid_request"
	}
	return "execution_failed"
}

// retryable reports whether the same request may succeed later.
func (r *Report) retryable() bool {
	switch r.GRPC {
	case Unavailable, ResourceExhausted, DeadlineExceeded:
		return r.Sentinel != apierror.ErrTooLarge
	}
	return false
}
