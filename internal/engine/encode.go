package engine

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/internal/json/a2ajson"
	"github.com/parley-a2a/parley/internal/json/rawjson"
	"github.com/parley-a2a/parley/internal/membudget"
	"github.com/parley-a2a/parley/internal/op"
	"github.com/parley-a2a/parley/internal/task"
)

func now() task.Millis { return task.MillisOf(time.Now()) }

// entries appends the entries for an event of an executor at the given time. A task event is
// split into its artifacts and its status. SUBMITTED is dropped, because the hub has stored it
// already.
func (l *live) entries(dst []task.Entry, ev a2a.Event, at task.Millis) ([]task.Entry, error) {
	ev, err := opened(ev)
	if err != nil {
		return nil, err
	}
	switch ev := ev.(type) {
	case *a2a.TaskStatusUpdateEvent:
		return l.fromStatus(dst, &ev.Status, ev.Metadata, at)
	case *a2a.TaskArtifactUpdateEvent:
		return fromArtifact(dst, ev, at)
	case *a2a.Task:
		return l.fromTask(dst, ev, at)
	case *rawEvent:
		return l.fromRaw(dst, ev, at)
	default:
		return nil, fmt.Errorf("unknown event %T", ev)
	}
}

func (l *live) fromTask(dst []task.Entry, t *a2a.Task, at task.Millis) ([]task.Entry, error) {
	for _, a := range t.Artifacts {
		var err error
		if dst, err = fromArtifact(dst, &a2a.TaskArtifactUpdateEvent{Artifact: a, LastChunk: true}, at); err != nil {
			return nil, err
		}
	}
	return l.fromStatus(dst, &t.Status, t.Metadata, at)
}

func (l *live) fromStatus(dst []task.Entry, s *a2a.TaskStatus, meta map[string]any, at task.Millis) ([]task.Entry, error) {
	state, ok := task.ParseState(string(s.State))
	if !ok {
		return nil, fmt.Errorf("status with state %q", s.State)
	}
	if state == task.Submitted {
		return dst, nil
	}
	en := task.Entry{Kind: task.Status, State: state, At: at}
	var err error
	if s.Message != nil {
		if en.Body, err = l.agentMessage(s.Message); err != nil {
			return nil, fmt.Errorf("status message: %w", err)
		}
	}
	if len(meta) > 0 {
		if en.Meta, err = a2ajson.AppendMetadata(nil, meta); err != nil {
			return nil, fmt.Errorf("status metadata: %w", err)
		}
	}
	return append(dst, en), nil
}

// agentMessage encodes a message of the agent with the ids of its task.
func (l *live) agentMessage(m *a2a.Message) ([]byte, error) {
	c := *m
	c.TaskID, c.ContextID = l.ref.id, l.contextID
	return a2ajson.AppendMessage(nil, &c)
}

func fromArtifact(dst []task.Entry, ev *a2a.TaskArtifactUpdateEvent, at task.Millis) ([]task.Entry, error) {
	en := task.Entry{Kind: task.Artifact, At: at, Append: ev.Append, LastChunk: ev.LastChunk}
	if ev.Artifact == nil {
		return nil, errors.New("artifact event without artifact")
	}
	en.ArtifactID = ev.Artifact.ID
	// A chunk without parts only states that the artifact is complete.
	if closing := ev.Append && ev.LastChunk; len(ev.Artifact.Parts) == 0 && !closing {
		return nil, fmt.Errorf("artifact %q without parts", en.ArtifactID)
	}
	var err error
	if en.Body, err = a2ajson.AppendArtifact(nil, ev.Artifact); err != nil {
		return nil, fmt.Errorf("artifact %q: %w", en.ArtifactID, err)
	}
	if len(ev.Metadata) > 0 {
		if en.Meta, err = a2ajson.AppendMetadata(nil, ev.Metadata); err != nil {
			return nil, fmt.Errorf("metadata of artifact %q: %w", en.ArtifactID, err)
		}
	}
	return append(dst, en), nil
}

// statusEntry returns a status entry on the hub's own behalf with text as its message; an empty
// text means no message.
func (l *live) statusEntry(s task.State, text string) task.Entry {
	en := task.Entry{Kind: task.Status, State: s, At: now()}
	if text != "" {
		en.Body = l.textMessage(text)
	}
	return en
}

// textMessage returns a message that the hub sends in the agent's role.
func (l *live) textMessage(text string) []byte {
	b := append([]byte(nil), `{"messageId":`...)
	b = rawjson.AppendString(b, a2a.NewMessageID())
	b = append(b, `,"contextId":`...)
	b = rawjson.AppendString(b, l.contextID)
	b = append(b, `,"taskId":`...)
	b = rawjson.AppendString(b, string(l.ref.id))
	b = append(b, `,"role":"ROLE_AGENT","parts":[{"text":`...)
	b = rawjson.AppendString(b, text)
	return append(b, `}]}`...)
}

// withIDs inserts the ids of the task at the start of a caller's message.
func (l *live) withIDs(body []byte) []byte {
	b := make([]byte, 0, len(body)+len(l.ref.id)+len(l.contextID)+32)
	b = append(b, `{"taskId":`...)
	b = rawjson.AppendString(b, string(l.ref.id))
	b = append(b, `,"contextId":`...)
	b = rawjson.AppendString(b, l.contextID)
	b = append(b, ',')
	return append(b, body[1:]...)
}

// Answer is the state of a task at one moment, or a bare message.
type Answer struct {
	op.Answer
	// Size is the approximate size of Fold in bytes, if it is large; otherwise zero.
	Size int
	// hold is the memory of an answer above membudget.Small; nil for others.
	hold *membudget.Hold
	// Confirmed are the extensions that the agent has confirmed for the answered message; nil
	// if it has confirmed none, and in answers to other calls.
	Confirmed *Confirmation
}

// sized notes the size of a large fold.
func (a *Answer) sized(f folded) *Answer {
	a.hold = f.hold
	if f.size > largeLog {
		a.Size = f.Fold.Size()
	}
	return a
}

// Release releases the memory that a large answer has acquired from the budget, once it was
// sent. Otherwise it is released at the end of the context of the call.
func (a *Answer) Release() { a.hold.Release() }

// answerOf returns a task in its caller's view. Once a message has answered the status, the
// task counts as working: a caller that saw the question again would take it for a new one.
func answerOf(h *task.Head, f *task.Fold, history *int) *Answer {
	a := new(Answer)
	setAnswer(&a.Answer, h, f, history)
	return a
}

// setAnswer is like answerOf, in place: a page of tasks needs no allocation for each.
func setAnswer(a *op.Answer, h *task.Head, f *task.Fold, history *int) {
	a.Head, a.Fold, a.History = *h, f, history
	if !h.Resumed() {
		return
	}
	a.Head.State, a.Head.StatusMessage, a.Head.StatusAt = task.Working, nil, h.UpdatedAt
	if f != nil {
		f.Retire()
	}
}

// Event is an entry together with its v1.0 frame.
type Event struct {
	task.Entry
	// Frame is the StreamResponse object as v1.0 JSON, shared by all readers; nil if the entry
	// has no frame (a message of the caller).
	Frame []byte
}

// reserved are the metadata names that only the hub may set. From callers or agents they would
// be mistaken for a question or an answer of the hub.
var reserved = []string{questionKey, answerKey}

// purposes are the metadata names with which agents of the hub state the purpose of a message.
// The receiving agents trust them.
var purposes = []string{"parley.asked", "parley.summary"}

// unreserved returns metadata without reserved names.
func unreserved(meta []byte) []byte { return without(meta, reserved) }

// without returns metadata without the given names: meta unchanged if it has none of them, nil
// if nothing remains.
func without(meta []byte, names []string) []byte {
	if meta == nil || !slices.ContainsFunc(names, func(name string) bool { return rawjson.Member(meta, name) != nil }) {
		return meta
	}
	b := []byte{'{'}
	for name, value := range rawjson.Fields(meta) {
		if !slices.Contains(names, name) {
			b = appendMember(b, name, value)
		}
	}
	if len(b) == 1 {
		return nil
	}
	return append(b, '}')
}

// bodyOf returns the message of a caller without the names reserved for the hub. Unless an
// agent has delegated the message, it also removes those of purposes.
func bodyOf(body []byte, delegated bool) []byte {
	meta := rawjson.Member(body, "metadata")
	left := unreserved(meta)
	if !delegated {
		left = without(left, purposes)
	}
	if len(left) == len(meta) {
		return body
	}
	b := []byte{'{'}
	for name, value := range rawjson.Fields(body) {
		if name == "metadata" {
			value = left
		}
		if value != nil {
			b = appendMember(b, name, value)
		}
	}
	return append(b, '}')
}

// appendMember appends a member to an open object.
func appendMember(b []byte, name string, value []byte) []byte {
	if len(b) > 1 {
		b = append(b, ',')
	}
	return append(append(rawjson.AppendString(b, name), ':'), value...)
}
