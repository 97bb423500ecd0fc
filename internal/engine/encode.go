package engine

import (
	"fmt"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/internal/a2ajson"
	"github.com/parley-a2a/parley/internal/rawjson"
	"github.com/parley-a2a/parley/task"
)

func now() task.Millis { return task.MillisOf(time.Now()) }

// entries returns what an event of an executor changes. A task event is taken
// apart into its artifacts and its status; SUBMITTED is absorbed, because the hub
// has said so already.
func (l *live) entries(ev a2a.Event) ([]task.Entry, error) {
	switch ev := ev.(type) {
	case *a2a.TaskStatusUpdateEvent:
		return l.fromStatus(&ev.Status, ev.Metadata)
	case *a2a.TaskArtifactUpdateEvent:
		en, err := artifactEntry(ev)
		return []task.Entry{en}, err
	case *a2a.Task:
		return l.fromTask(ev)
	default:
		return nil, fmt.Errorf("unknown event %T", ev)
	}
}

func (l *live) fromTask(t *a2a.Task) ([]task.Entry, error) {
	var all []task.Entry
	for _, a := range t.Artifacts {
		en, err := artifactEntry(&a2a.TaskArtifactUpdateEvent{Artifact: a, LastChunk: true})
		if err != nil {
			return nil, err
		}
		all = append(all, en)
	}
	status, err := l.fromStatus(&t.Status, t.Metadata)
	return append(all, status...), err
}

func (l *live) fromStatus(s *a2a.TaskStatus, meta map[string]any) ([]task.Entry, error) {
	state, ok := task.ParseState(string(s.State))
	if !ok {
		return nil, fmt.Errorf("status with state %q", s.State)
	}
	if state == task.Submitted {
		return nil, nil
	}
	en := task.Entry{Kind: task.Status, State: state, At: now()}
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
	return []task.Entry{en}, nil
}

// agentMessage encodes a message of the agent with the ids of its task.
func (l *live) agentMessage(m *a2a.Message) ([]byte, error) {
	c := *m
	c.TaskID, c.ContextID = l.ref.id, l.contextID
	return a2ajson.AppendMessage(nil, &c)
}

func artifactEntry(ev *a2a.TaskArtifactUpdateEvent) (task.Entry, error) {
	en := task.Entry{Kind: task.Artifact, At: now(), Append: ev.Append, LastChunk: ev.LastChunk}
	if ev.Artifact == nil {
		return en, fmt.Errorf("artifact event without artifact")
	}
	en.ArtifactID = ev.Artifact.ID
	// A chunk without parts only says that the artifact is complete.
	if closing := ev.Append && ev.LastChunk; len(ev.Artifact.Parts) == 0 && !closing {
		return en, fmt.Errorf("artifact %q without parts", en.ArtifactID)
	}
	var err error
	if en.Body, err = a2ajson.AppendArtifact(nil, ev.Artifact); err != nil {
		return en, fmt.Errorf("artifact %q: %w", en.ArtifactID, err)
	}
	if len(ev.Metadata) > 0 {
		en.Meta, err = a2ajson.AppendMetadata(nil, ev.Metadata)
	}
	return en, err
}

// statusEntry returns a status of the hub with text as its message; no text means
// no message.
func (l *live) statusEntry(s task.State, text string) task.Entry {
	en := task.Entry{Kind: task.Status, State: s, At: now()}
	if text != "" {
		en.Body = l.textMessage(text)
	}
	return en
}

// textMessage returns a message of the hub in the agent's role.
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

// withIDs puts the ids of the task in front of a message of the caller.
func (l *live) withIDs(body []byte) []byte {
	b := make([]byte, 0, len(body)+len(l.ref.id)+len(l.contextID)+32)
	b = append(b, `{"taskId":`...)
	b = rawjson.AppendString(b, string(l.ref.id))
	b = append(b, `,"contextId":`...)
	b = rawjson.AppendString(b, l.contextID)
	b = append(b, ',')
	return append(b, body[1:]...)
}
