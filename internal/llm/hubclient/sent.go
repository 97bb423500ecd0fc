package hubclient

import (
	"strings"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/client"
	"github.com/parley-a2a/parley/internal/llm"
)

// Sent is the result of a Send.
type Sent struct {
	// Agent is the name of the agent in the hub.
	Agent string
	// Task is the current task with its artifacts; nil if the answer is Message.
	Task *a2a.Task
	// Waiting is the code of the reason for which Task does not proceed, if the hub was asked for it and
	// something holds the task up.
	Waiting string
	// Message is the bare message with which the agent has answered, or nil.
	Message *a2a.Message

	// fold has combined the artifacts of Task; nil if the hub did.
	fold *client.Fold
}

// Parts returns the output of an agent: the parts of the artifacts, or of its message.
func (s *Sent) Parts() []*a2a.Part {
	var parts []*a2a.Part
	add := func(more a2a.ContentParts) {
		for _, p := range more {
			if p != nil {
				parts = append(parts, p)
			}
		}
	}
	if s.Message != nil {
		add(s.Message.Parts)
	}
	if s.Task != nil {
		for _, a := range s.Task.Artifacts {
			if a != nil {
				add(a.Parts)
			}
		}
		if m := s.Task.Status.Message; m != nil && len(parts) == 0 {
			add(m.Parts)
		}
	}
	return parts
}

// Reply returns the text of an agent's result, in the agent's words: the question of a waiting
// task, the reason and the progress of a task that was not completed, or the answer. If the
// agent has ended without any output, the text states that.
func (s *Sent) Reply() string {
	text := s.written()
	if text != "" || len(s.Parts()) > 0 {
		return text
	}
	if s.Task == nil {
		return llm.NoReply(s.Agent, client.StateName(a2a.TaskStateCompleted))
	}
	if state := s.Task.Status.State; state.Terminal() || client.Interrupted(state) {
		return llm.NoReply(s.Agent, client.StateName(state))
	}
	return ""
}

// written returns the text that the agent has written.
func (s *Sent) written() string {
	if s.Task == nil {
		return s.delivered()
	}
	status, state := "", s.Task.Status.State
	if s.Task.Status.Message != nil {
		status = Text(s.Task.Status.Message.Parts)
	}
	text := s.delivered()
	switch {
	case text == "", client.Interrupted(state) && status != "":
		return status
	case state == a2a.TaskStateCompleted, status == "", status == text:
		return text
	}
	return status + "\n\nUntil then it said:\n" + text
}

// delivered returns the text of a message, or of the artifacts, each on lines of its own.
func (s *Sent) delivered() string {
	if s.Message != nil {
		return Text(s.Message.Parts)
	}
	var texts []string
	for _, a := range s.Task.Artifacts {
		if a == nil {
			continue
		}
		if text := textOf(a.Parts, s.fold); text != "" {
			texts = append(texts, text)
		}
	}
	return strings.Join(texts, "\n")
}

// Text returns the texts of parts, each on lines of its own.
func Text(parts []*a2a.Part) string { return textOf(parts, nil) }

// textOf is Text for parts of an artifact that f has combined; f may be nil.
func textOf(parts []*a2a.Part, f *client.Fold) string {
	var b strings.Builder
	for _, p := range parts {
		if p == nil || p.Text() == "" {
			continue
		}
		if b.Len() > 0 && (f == nil || !f.Continues(p)) {
			b.WriteByte('\n')
		}
		b.WriteString(p.Text())
	}
	return b.String()
}
