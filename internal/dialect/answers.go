package dialect

import (
	"strconv"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/internal/apierror"
	"github.com/parley-a2a/parley/internal/json/a2ajson"
	"github.com/parley-a2a/parley/internal/json/rawjson"
)

// Answers of peers are read liberally: an object is identified by its kind, its wrapper or its
// members, and states and roles are accepted in the spelling of any dialect. Peers mix
// dialects, and claim versions that they do not implement. Only the parts of messages are read
// strictly by the dialect, because they would be ambiguous.

// maxAnswerParts bounds the parts of one artifact of a peer. Servers that append each chunk as
// a part of its own create many.
const maxAnswerParts = 1 << 20

// Frame is one event of a peer's stream, or the answer to a send.
type Frame struct {
	// JSON is the event as a v1.0 StreamResponse.
	JSON []byte
	// Final is set if the peer marked the event as the last one, as v0.3 does.
	Final bool
	// Old is set if the frame has kinds, so its sender uses v0.3.
	Old bool
}

// ReadFrame reads an event of a stream, or the answer to a send. Unknown fields and the digits
// of numbers are kept. Errors wrap a2a.ErrInvalidAgentResponse and name the field; an unknown
// state is an error. Beside a *Partial the Frame holds what could be read.
//
// An event of a kind that the protocol does not define is passed on as an object with the event
// under the name of its kind.
func (s Shape) ReadFrame(wire []byte) (Frame, error) {
	r := answers{shape: s}
	f, err := r.event(wire)
	if err != nil {
		return Frame{}, blamePeer(err)
	}
	return f, r.partial()
}

// ReadResult reads the result of a call and returns that of v1.0. The result of a send and of a
// subscription is a StreamResponse. Errors are those of ReadFrame.
func (s Shape) ReadResult(o Operation, wire []byte) ([]byte, error) {
	r := answers{shape: s}
	out, err := r.result(o, wire)
	if err != nil {
		return nil, blamePeer(err)
	}
	return out, r.partial()
}

// blamePeer converts a decoder's error into an invalid response of the agent.
func blamePeer(err error) error {
	text := err.Error()
	if f, ok := err.(*apierror.Error); ok {
		text = f.Message
	}
	return apierror.New(a2a.ErrInvalidAgentResponse, "%s", text)
}

// Partial is the error of an answer of which something could not be read. The rest is returned
// beside it.
type Partial struct{ Err error }

// Error returns the first thing that could not be read.
func (p *Partial) Error() string { return p.Err.Error() }

// Unwrap returns the error about it.
func (p *Partial) Unwrap() error { return p.Err }

// answers reads the answers of a peer that uses the given dialect.
type answers struct {
	shape Shape
	// lost is why something could not be read that the rest does not depend on; nil if
	// everything was read.
	lost error
}

// leave removes what follows the first n bytes of dst: something that could not be read.
func (r *answers) leave(dst []byte, n int, err error) []byte {
	if r.lost == nil {
		r.lost = err
	}
	return dst[:n]
}

// under prepends field to the path of the lost member, unless it was lost before.
func (r *answers) under(field string, before error) {
	if before == nil && r.lost != nil {
		r.lost = a2ajson.Under(field, r.lost)
	}
}

// partial returns the error about the lost member, or nil.
func (r *answers) partial() error {
	if r.lost == nil {
		return nil
	}
	return &Partial{blamePeer(r.lost)}
}

func (r *answers) result(o Operation, wire []byte) ([]byte, error) {
	if err := a2ajson.Check(wire, 0); err != nil {
		return nil, err
	}
	switch {
	case o.sends() || o == SubscribeToTask:
		f, err := r.frame(wire)
		return f.JSON, err
	case o == GetTask || o == CancelTask:
		return r.wholeTask(wire)
	case o == ListTasks:
		return r.page(wire)
	case o == CreatePushConfig || o == GetPushConfig:
		return readPushAnswer(nil, wire)
	case o == ListPushConfigs:
		return r.pushAnswers(wire)
	case o == DeletePushConfig:
		return []byte("{}"), nil
	}
	return rawjson.AppendCompact(nil, wire), nil
}

// wholeTask reads a task with or without a wrapper.
func (r *answers) wholeTask(wire []byte) ([]byte, error) {
	if inner := member(wire, "task"); rawjson.KindOf(inner) == rawjson.Object && member(wire, "status") == nil {
		wire = inner
	}
	return r.task(nil, wire)
}

func (r *answers) page(wire []byte) ([]byte, error) {
	if rawjson.KindOf(wire) == rawjson.Array {
		wire = append(append([]byte(`{"tasks":`), wire...), '}')
	}
	if rawjson.KindOf(wire) != rawjson.Object {
		return nil, a2ajson.Invalid("must be an object")
	}
	out := []byte{'{'}
	for name, v := range rawjson.Fields(wire) {
		if name != "tasks" {
			out = rawjson.AppendCompact(rawjson.AppendName(out, name), v)
			continue
		}
		var err error
		if out, err = r.list(rawjson.AppendName(out, name), v, r.listed); err != nil {
			return nil, a2ajson.Under(name, err)
		}
		r.under(name, nil)
	}
	return append(out, '}'), nil
}

// listed reads a task of a list. If something in it cannot be read, the task is listed with its
// ids and its state, and with a message that says why.
func (r *answers) listed(dst, obj []byte) ([]byte, error) {
	one := answers{shape: r.shape}
	out, err := one.task(dst, obj)
	if err == nil && one.lost == nil {
		return out, nil
	}
	if err == nil {
		err = one.lost
	}
	state, unstated := ReadState(member(member(obj, "status"), "state"))
	id, named := rawjson.String(member(obj, "id"))
	if unstated != nil || !named || id == "" {
		return dst, err
	}
	dst = rawjson.AppendString(append(dst, `{"id":`...), id)
	if context := textOf(obj, "contextId"); context != "" {
		dst = rawjson.AppendString(append(dst, `,"contextId":`...), context)
	}
	dst = rawjson.AppendString(append(dst, `,"status":{"state":`...), string(state))
	dst = rawjson.AppendString(append(dst, `,"message":{"messageId":`...), "unreadable-"+id)
	dst = append(dst, `,"role":"ROLE_AGENT","parts":[{"text":`...)
	return append(rawjson.AppendString(dst, "this task cannot be read: "+blamePeer(err).Error()), `}]}}}`...), nil
}

// event reads an event of a stream.
func (r *answers) event(wire []byte) (Frame, error) {
	if a2ajson.Check(wire, 0) == nil {
		if name, _ := armOf(wire); name == "" {
			if out := otherEvent(wire); out != nil {
				return Frame{JSON: out}, nil
			}
		}
	}
	return r.frame(wire)
}

// frame reads a StreamResponse of any dialect.
func (r *answers) frame(wire []byte) (Frame, error) {
	if err := a2ajson.Check(wire, 0); err != nil {
		return Frame{}, err
	}
	if rawjson.KindOf(wire) != rawjson.Object {
		return Frame{}, a2ajson.Invalid("must be an object")
	}
	wire = withMessage(wire)
	name, obj := armOf(wire)
	framed := len(obj) < len(wire) // the event itself may have a member of its own name
	read := r.reader(name)
	if read == nil {
		return Frame{}, a2ajson.Invalid("is not a task, a message or an event")
	}
	if name == "task" && nameless(obj) {
		status := withReply(withState(member(obj, "status")), member(obj, "message"))
		name, obj, read = "message", member(status, "message"), r.message
	}
	out, err := read(append(append([]byte(`{"`), name...), `":`...), obj)
	if err != nil {
		return Frame{}, a2ajson.Under(name, err)
	}
	r.under(name, nil)
	if framed {
		out = appendBeside(out, wire)
	}
	return Frame{
		JSON: append(out, '}'), Final: string(member(obj, "final")) == "true", Old: member(wire, "kind") != nil,
	}, nil
}

func (r *answers) reader(name string) func(dst, obj []byte) ([]byte, error) {
	switch name {
	case "task":
		return r.task
	case "message":
		return r.message
	case "statusUpdate":
		return r.statusUpdate
	case "artifactUpdate":
		return r.artifactUpdate
	}
	return nil
}

// arms maps the members of a StreamResponse, in all spellings, to their v1.0 names.
var arms = map[string]string{
	"task": "task", "message": "message", "msg": "message",
	"statusUpdate": "statusUpdate", "status_update": "statusUpdate",
	"artifactUpdate": "artifactUpdate", "artifact_update": "artifactUpdate",
}

var kinds = map[string]string{
	"task": "task", "message": "message", "status-update": "statusUpdate", "artifact-update": "artifactUpdate",
}

// armOf returns the event in wire with its v1.0 name. The event is wire itself, identified by
// its kind or its members, or the member of a wrapper.
func armOf(wire []byte) (string, []byte) {
	if kind, ok := rawjson.String(member(wire, "kind")); ok && kinds[kind] != "" {
		return kinds[kind], wire
	}
	has := func(name string) bool {
		v := member(wire, name)
		return v != nil && rawjson.KindOf(v) != rawjson.Null
	}
	switch {
	case has("artifact"):
		return "artifactUpdate", wire
	case has("status") && (has("taskId") || has("task_id")):
		return "statusUpdate", wire
	case has("status"):
		return "task", wire
	case has("parts") || has("content") && has("role"):
		return "message", wire
	}
	if has("kind") && has("taskId") {
		return "", nil // an event of v0.3 of another kind, with any content
	}
	for name, v := range rawjson.Fields(wire) {
		if arm := arms[name]; arm != "" && rawjson.KindOf(v) == rawjson.Object {
			return arm, v
		}
	}
	return "", nil
}

const (
	ansID = iota
	ansContextID
	ansStatus
	ansArtifacts
	ansHistory
	ansMetadata
	ansKind
)

var taskAnswer = a2ajson.NewSchema("id", "contextId", "status", "artifacts", "history", "metadata", "kind")

func (r *answers) task(dst, obj []byte) ([]byte, error) {
	dst = append(dst, '{')
	var id, status bool
	err := taskAnswer.Each(obj, func(i int, name string, v []byte) (err error) {
		before, n := r.lost, len(dst)
		defer func() {
			if r.under(name, before); err != nil && i != ansID && i != ansStatus {
				dst, err = r.leave(dst, n, a2ajson.Under(name, err)), nil
			}
		}()
		switch i {
		case ansID:
			id = !isText(v, "")
			dst, err = appendText(dst, "id", v)
		case ansContextID:
			dst, err = appendUnlessEmpty(dst, "contextId", v)
		case ansStatus:
			status = true
			dst, err = r.status(rawjson.AppendName(dst, "status"), withReply(withState(v), member(obj, "message")))
		case ansArtifacts:
			dst, err = r.list(rawjson.AppendName(dst, "artifacts"), v, r.artifact)
		case ansHistory:
			dst, err = r.list(rawjson.AppendName(dst, "history"), v, r.message)
			r.lost = before // the history is no part of the answer
		case ansMetadata:
			dst, err = appendMetadata(dst, v)
		case ansKind:
		default:
			if name == "message" && isReply(v) {
				return nil // it is the message of the status
			}
			dst = rawjson.AppendCompact(rawjson.AppendName(dst, name), v)
		}
		return err
	})
	switch {
	case err != nil:
		return dst, err
	case !id:
		return dst, required("id")
	case !status:
		return dst, required("status")
	}
	return append(dst, '}'), nil
}

const (
	ansState = iota
	ansMessage
	ansTimestamp
)

var statusAnswer = a2ajson.NewSchema("state", "message:update", "timestamp")

func (r *answers) status(dst, obj []byte) ([]byte, error) {
	dst = append(dst, '{')
	stated := false
	err := statusAnswer.Each(obj, func(i int, name string, v []byte) (err error) {
		n := len(dst)
		defer func() {
			if err != nil && i != ansState {
				dst, err = r.leave(dst, n, a2ajson.Under(name, err)), nil
			}
		}()
		switch i {
		case ansState:
			var state a2a.TaskState
			if state, err = ReadState(v); err == nil {
				dst = rawjson.AppendString(rawjson.AppendName(dst, "state"), string(state))
			}
			stated = true
		case ansMessage:
			dst, err = r.message(rawjson.AppendName(dst, "message"), v)
		case ansTimestamp:
			dst = appendTimestamp(dst, v)
		default:
			dst = rawjson.AppendCompact(rawjson.AppendName(dst, name), v)
		}
		return err
	})
	if err == nil && !stated {
		err = required("state")
	}
	return append(dst, '}'), err
}

const (
	ansTaskID = iota
	ansEventContext
	ansEventStatus
	ansArtifact
	ansAppend
	ansLastChunk
	ansEventMetadata
	ansEventKind
	ansFinal
)

var eventAnswer = a2ajson.NewSchema(
	"taskId", "contextId", "status", "artifact", "append", "lastChunk", "metadata", "kind", "final")

func (r *answers) statusUpdate(dst, obj []byte) ([]byte, error) { return r.update(dst, obj, "status") }

func (r *answers) artifactUpdate(dst, obj []byte) ([]byte, error) {
	return r.update(dst, obj, "artifact")
}

// update appends an event with its required content.
func (r *answers) update(dst, obj []byte, content string) ([]byte, error) {
	dst = append(dst, '{')
	var id, whole bool
	err := eventAnswer.Each(obj, func(i int, name string, v []byte) (err error) {
		before, n := r.lost, len(dst)
		defer func() {
			if r.under(name, before); err != nil && i != ansTaskID && name != content {
				dst, err = r.leave(dst, n, a2ajson.Under(name, err)), nil
			}
		}()
		switch i {
		case ansTaskID:
			id = !isText(v, "")
			dst, err = appendText(dst, "taskId", v)
		case ansEventContext:
			dst, err = appendUnlessEmpty(dst, "contextId", v)
		case ansEventStatus:
			whole = whole || content == name
			dst, err = r.status(rawjson.AppendName(dst, name), v)
		case ansArtifact:
			whole = whole || content == name
			dst, err = r.artifact(rawjson.AppendName(dst, name), v)
		case ansAppend, ansLastChunk:
			dst, err = appendFlag(dst, [...]string{"append", "lastChunk"}[i-ansAppend], v)
		case ansEventMetadata:
			dst, err = appendMetadata(dst, v)
		case ansEventKind, ansFinal:
		default:
			dst = rawjson.AppendCompact(rawjson.AppendName(dst, name), v)
		}
		return err
	})
	switch {
	case err != nil:
		return dst, err
	case !id:
		return dst, required("taskId")
	case !whole:
		return dst, required(content)
	}
	return append(dst, '}'), nil
}

func appendFlag(dst []byte, name string, v []byte) ([]byte, error) {
	b, err := a2ajson.ReadBool(v)
	if err == nil && b {
		dst = append(rawjson.AppendName(dst, name), "true"...)
	}
	return dst, err
}

func appendMetadata(dst, v []byte) ([]byte, error) {
	obj, err := a2ajson.ReadObject(v)
	if err == nil {
		dst = append(rawjson.AppendName(dst, "metadata"), obj...)
	}
	return dst, err
}

// appendUnlessEmpty appends a string unless it is empty.
func appendUnlessEmpty(dst []byte, name string, v []byte) ([]byte, error) {
	if isText(v, "") {
		return dst, nil
	}
	return appendText(dst, name, v)
}

// list appends a list of objects, without those that cannot be read.
func (r *answers) list(dst, arr []byte, read func(dst, v []byte) ([]byte, error)) ([]byte, error) {
	if rawjson.KindOf(arr) != rawjson.Array {
		return dst, a2ajson.Invalid("must be a list")
	}
	dst = append(dst, '[')
	i := 0
	for v := range rawjson.Elements(arr) {
		n := len(dst)
		if dst[n-1] != '[' {
			dst = append(dst, ',')
		}
		out, err := read(dst, v)
		if dst = out; err != nil {
			dst = r.leave(dst, n, a2ajson.Under("["+strconv.Itoa(i)+"]", err))
		}
		i++
	}
	return append(dst, ']'), nil
}

// liberal are the options of the canonicalisers for data of peers.
var liberal = a2ajson.Options{Fill: true, EmptyParts: true, Checked: true, MaxParts: maxAnswerParts}

func (r *answers) message(dst, obj []byte) ([]byte, error) {
	v1, err := r.withParts(obj)
	if err != nil {
		return dst, err
	}
	dst, _, err = a2ajson.Message(dst, v1, liberal)
	return dst, err
}

func (r *answers) artifact(dst, obj []byte) ([]byte, error) {
	v1, err := r.withParts(obj)
	if err != nil {
		return dst, err
	}
	dst, _, err = a2ajson.Artifact(dst, v1, liberal)
	return dst, err
}

// withParts returns a message or an artifact with the parts of v1.0. In the proto of v0.3 the
// parts of a message are called content.
func (r *answers) withParts(obj []byte) ([]byte, error) {
	if rawjson.KindOf(obj) != rawjson.Object {
		return nil, a2ajson.Invalid("must be an object")
	}
	out := append(make([]byte, 0, len(obj)), '{')
	for name, v := range rawjson.Fields(obj) {
		var err error
		switch {
		case name == "kind":
		case name == "parts", name == "content" && rawjson.KindOf(v) == rawjson.Array:
			if out, err = readParts(rawjson.AppendName(out, "parts"), v, r.part); err != nil {
				return nil, a2ajson.Under(name, err)
			}
		default:
			out = append(rawjson.AppendName(out, name), v...)
		}
	}
	return append(out, '}'), nil
}

// part appends a part of the dialect in the shape of v1.0.
func (r *answers) part(dst, part []byte) ([]byte, error) { return Of(r.shape).Calling.Part(dst, part) }

// readAnyPart appends a part of a peer of v1.0, which may have a kind.
func readAnyPart(dst, part []byte) ([]byte, error) {
	if kind := member(part, "kind"); isText(kind, "text") || isText(kind, "data") || isText(kind, "file") {
		return readV03Part(dst, part)
	}
	return append(dst, part...), nil
}

// readJobPartOf appends a part of a peer that takes jobs.
func readJobPartOf(dst, part []byte) ([]byte, error) {
	if kind := member(part, "kind"); kind != nil && !isText(kind, "text") && !isText(kind, "data") {
		return readV03Part(dst, part)
	}
	return readJobAnswerPart(dst, part)
}

// readJobAnswerPart appends a part of a job's result, whose data may have been wrapped.
func readJobAnswerPart(dst, part []byte) ([]byte, error) {
	if member(part, "kind") == nil {
		return readV03Part(dst, part)
	}
	v1, err := readJobPart(nil, part)
	if err != nil {
		return dst, err
	}
	return unwrapPart(dst, v1), nil
}
