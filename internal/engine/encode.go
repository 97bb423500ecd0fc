package engine

import (
	"errors"
	"fmt"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/internal/json/a2ajson"
	"github.com/parley-a2a/parley/internal/json/rawjson"
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
