package peer

import (
	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/internal/dialect"
	"github.com/parley-a2a/parley/internal/json/rawjson"
)

// Kind is the kind of an event. The zero Kind is invalid.
type Kind uint8

// The kinds of events.
const (
	// Task is the whole task in its current state; it replaces all events before.
	Task Kind = iota + 1
	// Message is a bare message, which is the whole answer.
	Message
	// StatusUpdate is a new status.
	StatusUpdate
	// ArtifactUpdate is an artifact, or a chunk of one.
	ArtifactUpdate
	// Other is an event of a kind that the protocol does not define.
	Other
)

var kindNames = [...]string{"none", "task", "message", "status", "artifact", "other"}

// String returns the name of k, such as "task".
func (k Kind) String() string {
	if int(k) >= len(kindNames) {
		return kindNames[0]
	}
	return kindNames[k]
}

// Event is an event of a peer about a task.
type Event struct {
	// JSON is a StreamResponse of v1.0 on one line: an object with a task, a message, a
	// statusUpdate or an artifactUpdate as its first member, or with none of them. Unknown
	// fields and the digits of numbers are those of the peer.
	JSON []byte
	// Kind is the kind of the event.
	Kind Kind
	// ID is the id that the peer gave to the event, or empty.
	ID string
	// TaskID and ContextID are the task and the context of the event; empty for messages that
	// do not name them.
	TaskID    a2a.TaskID
	ContextID string
	// State is the state of a Task or a StatusUpdate, and empty otherwise.
	State a2a.TaskState
	// Whole states that the event is the whole answer to a send, and not one of a stream.
	Whole bool
}

// Body returns the task, the message or the update inside of the event.
func (e *Event) Body() []byte {
	for _, v := range rawjson.Fields(e.JSON) {
		return v
	}
	return nil
}

var kindOf = map[string]Kind{
	"task": Task, "message": Message, "statusUpdate": StatusUpdate, "artifactUpdate": ArtifactUpdate,
}

// NewEvent returns the event for a StreamResponse of v1.0.
func NewEvent(json []byte) Event {
	e := Event{JSON: json}
	for name, body := range rawjson.Fields(json) {
		if e.Kind = kindOf[name]; e.Kind == 0 {
			e.Kind = Other
		}
		id := "taskId"
		if e.Kind == Task {
			id = "id"
		}
		e.TaskID = a2a.TaskID(text(body, id))
		e.ContextID = text(body, "contextId")
		if e.Kind == Task || e.Kind == StatusUpdate {
			e.State = a2a.TaskState(text(rawjson.Member(body, "status"), "state"))
		}
		break
	}
	return e
}

func text(obj []byte, name string) string {
	s, _ := rawjson.String(rawjson.Member(obj, name))
	return s
}

// Interrupted reports whether a task in state s waits for the caller.
func Interrupted(s a2a.TaskState) bool {
	return s == a2a.TaskStateInputRequired || s == a2a.TaskStateAuthRequired
}

// answered is the state of a stream that was answered with a bare message.
const answered a2a.TaskState = "answered"

// settled reports whether an agent may end a stream in state.
func settled(state a2a.TaskState) bool {
	return state.Terminal() || state == answered || Interrupted(state)
}

// over reports whether nothing follows state.
func over(state a2a.TaskState) bool { return state.Terminal() || state == answered }

// eventChecker checks and corrects the events of one stream.
type eventChecker struct {
	task    a2a.TaskID
	context string
	state   a2a.TaskState
	// closed states that the status which has ended the task has a message.
	closed bool
}

// take converts a frame to an event; the result is false if the frame is dropped. The
// streams of some agents end with a message about their task. That message becomes the end of the task,
// because in v1.0 a message never follows a task. Once the task has ended, no event changes its
// state.
func (t *eventChecker) take(f dialect.Frame, id string) (Event, bool, error) {
	e := NewEvent(f.JSON)
	e.ID = id
	if t.task != "" && e.TaskID != "" && e.TaskID != t.task {
		return Event{}, false, unreadable(strange("an event of task %s in the stream of task %s", e.TaskID, t.task))
	}
	if e.Kind == Message && t.task != "" && t.state != "" {
		if t.closed || t.state == answered {
			return Event{}, false, nil
		}
		e = t.completed(e)
	}
	if t.state.Terminal() && e.State != "" && e.State != t.state {
		return Event{}, false, nil
	}
	if e.TaskID != "" && e.Kind != Message {
		t.task = e.TaskID
	}
	if e.ContextID != "" {
		t.context = e.ContextID
	}
	switch {
	case e.Kind == Message:
		t.state = answered
	case e.State != "":
		t.state = e.State
	}
	if e.State.Terminal() {
		t.closed = t.closed || rawjson.Member(rawjson.Member(e.Body(), "status"), "message") != nil
	}
	return e, true, nil
}

// completed converts a message that ends a task, or follows its end, to a status.
func (t *eventChecker) completed(e Event) Event {
	state := t.state
	if !state.Terminal() {
		state = a2a.TaskStateCompleted
	}
	json := rawjson.AppendString([]byte(`{"statusUpdate":{"taskId":`), string(t.task))
	if t.context != "" {
		json = rawjson.AppendString(append(json, `,"contextId":`...), t.context)
	}
	json = rawjson.AppendString(append(json, `,"status":{"state":`...), string(state))
	json = append(append(json, `,"message":`...), e.Body()...)
	done := NewEvent(append(json, "}}}"...))
	done.ID = e.ID
	return done
}
