package worker

import (
	"encoding/json"
	"fmt"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/agent"
	"github.com/parley-a2a/parley/internal/json/a2ajson"
	"github.com/parley-a2a/parley/internal/json/rawjson"
	"github.com/parley-a2a/parley/task"
)

// encodeEvent returns the StreamResponse for an event, and whether it is the last event of the
// run. The hub converts a bare message to an artifact that completes the task.
func encodeEvent(ev a2a.Event) (b json.RawMessage, last bool, err error) {
	if b, err = eventJSON(ev); err != nil {
		return nil, false, err
	}
	if rawjson.Member(b, "message") != nil {
		return b, true, nil
	}
	state, _ := task.ParseState(string(stateAfter(ev)))
	return b, state.Terminal() || state == task.InputRequired, nil
}

func eventJSON(ev a2a.Event) (json.RawMessage, error) {
	if raw, ok := ev.(*agent.Raw); ok {
		return raw.JSON, nil
	}
	if b, ok := plainEvent(ev); ok {
		return b, nil
	}
	b, err := json.Marshal(a2a.StreamResponse{Event: ev})
	if err != nil {
		return nil, fmt.Errorf("encode event %T: %w", ev, err)
	}
	return b, nil
}

// plainEvent returns the JSON of an event with common content, without reflection. It returns
// false if the SDK has to encode it, because it has metadata, free data, or missing fields.
func plainEvent(ev a2a.Event) (json.RawMessage, bool) {
	p := plain{b: make([]byte, 0, 384)} // larger than most events
	switch ev := ev.(type) {
	case *a2a.Task:
		p.task(ev)
	case *a2a.TaskStatusUpdateEvent:
		p.statusUpdate(ev)
	case *a2a.TaskArtifactUpdateEvent:
		p.artifactUpdate(ev)
	default:
		return nil, false
	}
	return append(p.b, `}}`...), !p.odd
}

// plain encodes an event. odd is set once a member needs the SDK's encoder.
type plain struct {
	b   []byte
	odd bool
}

// raw appends JSON.
func (p *plain) raw(text string) { p.b = append(p.b, text...) }

// text appends a name, which includes its colon, and a string.
func (p *plain) text(name, s string) { p.b = rawjson.AppendString(append(p.b, name...), s) }

func (p *plain) task(t *a2a.Task) {
	if t == nil || len(t.Metadata) > 0 {
		p.odd = true
		return
	}
	p.text(`{"task":{"id":`, string(t.ID))
	p.text(`,"contextId":`, t.ContextID)
	p.status(&t.Status)
	for i, m := range t.History {
		p.raw([...]string{`,"history":[`, `,`}[min(i, 1)])
		p.message(m)
	}
	if len(t.History) > 0 {
		p.raw(`]`)
	}
	for i, a := range t.Artifacts {
		p.raw([...]string{`,"artifacts":[`, `,`}[min(i, 1)])
		p.artifact(a)
	}
	if len(t.Artifacts) > 0 {
		p.raw(`]`)
	}
}

func (p *plain) statusUpdate(ev *a2a.TaskStatusUpdateEvent) {
	if ev == nil || len(ev.Metadata) > 0 {
		p.odd = true
		return
	}
	p.text(`{"statusUpdate":{"contextId":`, ev.ContextID)
	p.text(`,"taskId":`, string(ev.TaskID))
	p.status(&ev.Status)
}

func (p *plain) artifactUpdate(ev *a2a.TaskArtifactUpdateEvent) {
	if ev == nil || len(ev.Metadata) > 0 {
		p.odd = true
		return
	}
	p.text(`{"artifactUpdate":{"contextId":`, ev.ContextID)
	p.text(`,"taskId":`, string(ev.TaskID))
	p.raw(`,"artifact":`)
	p.artifact(ev.Artifact)
	if ev.Append {
		p.raw(`,"append":true`)
	}
	if ev.LastChunk {
		p.raw(`,"lastChunk":true`)
	}
}

// status appends the member status.
func (p *plain) status(s *a2a.TaskStatus) {
	p.text(`,"status":{"state":`, s.State.String())
	if s.Message != nil {
		p.raw(`,"message":`)
		p.message(s.Message)
	}
	if s.Timestamp != nil {
		p.raw(`,"timestamp":"`)
		b, err := s.Timestamp.AppendText(p.b)
		p.b, p.odd = append(b, '"'), p.odd || err != nil
	}
	p.raw(`}`)
}

func (p *plain) message(m *a2a.Message) {
	if m == nil || m.ID == "" || m.Role != a2a.MessageRoleAgent && m.Role != a2a.MessageRoleUser || len(m.Metadata) > 0 || !plainParts(m.Parts) {
		p.odd = true
		return
	}
	b, err := a2ajson.AppendMessage(p.b, m)
	p.b, p.odd = b, p.odd || err != nil
}

func (p *plain) artifact(a *a2a.Artifact) {
	if a == nil || a.ID == "" || len(a.Metadata) > 0 || !plainParts(a.Parts) {
		p.odd = true
		return
	}
	b, err := a2ajson.AppendArtifact(p.b, a)
	p.b, p.odd = b, p.odd || err != nil
}

// plainParts reports whether parts is not empty and has only parts with text, bytes or URLs.
func plainParts(parts a2a.ContentParts) bool {
	for _, p := range parts {
		if p == nil || len(p.Metadata) > 0 {
			return false
		}
		switch c := p.Content.(type) {
		case a2a.Text, a2a.URL:
		case a2a.Raw:
			if c == nil {
				return false
			}
		default:
			return false
		}
	}
	return len(parts) > 0
}

// stateAfter returns the state that an event sets; empty if it sets none.
func stateAfter(ev a2a.Event) a2a.TaskState {
	switch ev := ev.(type) {
	case *a2a.TaskStatusUpdateEvent:
		return ev.Status.State
	case *a2a.Task:
		return ev.Status.State
	case *agent.Raw:
		for _, name := range [...]string{"statusUpdate", "task"} {
			if v := rawjson.Member(ev.JSON, name); v != nil {
				state, _ := rawjson.String(rawjson.Member(rawjson.Member(v, "status"), "state"))
				return a2a.TaskState(state)
			}
		}
	}
	return ""
}
