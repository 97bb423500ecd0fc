package client

import (
	"strings"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/internal/llm"
)

// Text returns the answer of the agent with the given name as text: all text parts of all
// artifacts, each on lines of its own unless it continues the one before; else those of a bare
// message; else those of the status; else "agent: state".
func (f *Fold) Text(agent string) string {
	var texts []string
	if f.Task != nil {
		for _, a := range f.Task.Artifacts {
			if a != nil {
				texts = f.appendText(texts, a.Parts)
			}
		}
	}
	if len(texts) == 0 && f.Message != nil {
		texts = f.appendText(texts, f.Message.Parts)
	}
	if len(texts) == 0 && f.Task != nil && f.Task.Status.Message != nil {
		texts = f.appendText(texts, f.Task.Status.Message.Parts)
	}
	switch {
	case len(texts) > 0:
		return strings.Join(texts, "\n")
	case f.Task != nil:
		return llm.NoReply(agent, StateName(f.Task.Status.State))
	case f.Message != nil:
		return llm.NoReply(agent, StateName(a2a.TaskStateCompleted))
	}
	return llm.NoReply(agent, "no answer")
}

// appendText appends the joined text parts, if there are any.
func (f *Fold) appendText(texts []string, parts a2a.ContentParts) []string {
	var b strings.Builder
	some := false
	for _, p := range parts {
		if p == nil {
			continue
		}
		if text, ok := p.Content.(a2a.Text); ok {
			if b.Len() > 0 && text != "" && !f.Continues(p) {
				b.WriteByte('\n')
			}
			some = true
			b.WriteString(string(text))
		}
	}
	if !some {
		return texts
	}
	return append(texts, b.String())
}

// StateName returns a state in words, such as "input-required".
func StateName(s a2a.TaskState) string {
	return strings.ToLower(strings.ReplaceAll(strings.TrimPrefix(string(s), "TASK_STATE_"), "_", "-"))
}

// The types of an [Update].
const (
	// UpdateStatus is a new status; its text is the agent's message about it.
	UpdateStatus = "status"
	// UpdateArtifact is a whole artifact.
	UpdateArtifact = "artifact"
	// UpdateChunk is a piece of an artifact, and UpdateComplete its last one.
	UpdateChunk    = "artifact_chunk"
	UpdateComplete = "artifact_complete"
	// UpdateMessage is a bare message: the whole answer.
	UpdateMessage = "message"
)

// Update is a summary of an event, for showing progress.
type Update struct {
	// Type is one of the types above.
	Type string `json:"type"`
	// Text is the joined text of the event's text parts.
	Text string `json:"text,omitempty"`
	// State is the name of the task's state, such as "working"; empty if the event has none.
	State string `json:"state,omitempty"`
}

// UpdateOf returns the summary of an event.
func UpdateOf(event a2a.Event) Update {
	switch e := event.(type) {
	case *a2a.Message:
		return Update{Type: UpdateMessage, Text: joined(e.Parts)}
	case *a2a.Task:
		return statusUpdate(&e.Status)
	case *a2a.TaskStatusUpdateEvent:
		return statusUpdate(&e.Status)
	case *a2a.TaskArtifactUpdateEvent:
		u := Update{Type: UpdateArtifact}
		switch {
		case e.LastChunk && e.Append:
			u.Type = UpdateComplete
		case e.Append || !e.LastChunk:
			u.Type = UpdateChunk
		}
		if e.Artifact != nil {
			u.Text = joined(e.Artifact.Parts)
		}
		return u
	}
	return Update{}
}

func statusUpdate(s *a2a.TaskStatus) Update {
	u := Update{Type: UpdateStatus, State: StateName(s.State)}
	if s.Message != nil {
		u.Text = joined(s.Message.Parts)
	}
	return u
}

func joined(parts a2a.ContentParts) string { return strings.Join(new(Fold).appendText(nil, parts), "") }
