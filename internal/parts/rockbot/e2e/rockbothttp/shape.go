package rockbothttp

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"
)

// The names in the document of RockBot's gateway.
var (
	states = []string{"submitted", "working", "inputRequired", "authRequired", "completed", "failed", "canceled", "rejected"}
	roles  = []string{"user", "agent"}
)

// Event is a StreamResponse; one of its members is set.
type Event struct {
	Task           *Task           `json:"task"`
	Message        *Message        `json:"message"`
	StatusUpdate   *StatusUpdate   `json:"statusUpdate"`
	ArtifactUpdate *ArtifactUpdate `json:"artifactUpdate"`
}

// Task is an AgentTask of the gateway.
type Task struct {
	ID        string     `json:"id"`
	ContextID string     `json:"contextId"`
	Status    Status     `json:"status"`
	Artifacts []Artifact `json:"artifacts"`
	History   []Message  `json:"history"`
}

// Status is the status of a task.
type Status struct {
	State     string     `json:"state"`
	Message   *Message   `json:"message"`
	Timestamp *time.Time `json:"timestamp"`
}

// Message is a message of either side.
type Message struct {
	MessageID string `json:"messageId"`
	ContextID string `json:"contextId"`
	TaskID    string `json:"taskId"`
	Role      string `json:"role"`
	Parts     []Part `json:"parts"`
}

// Part is a part; one of its contents is set.
type Part struct {
	Text *string         `json:"text"`
	Raw  *string         `json:"raw"`
	URL  *string         `json:"url"`
	Data json.RawMessage `json:"data"`
}

// Artifact is an artifact.
type Artifact struct {
	ID    string `json:"artifactId"`
	Parts []Part `json:"parts"`
}

// StatusUpdate is a TaskStatusUpdateEvent.
type StatusUpdate struct {
	TaskID    string `json:"taskId"`
	ContextID string `json:"contextId"`
	Status    Status `json:"status"`
}

// ArtifactUpdate is a TaskArtifactUpdateEvent.
type ArtifactUpdate struct {
	TaskID    string   `json:"taskId"`
	ContextID string   `json:"contextId"`
	Artifact  Artifact `json:"artifact"`
	Append    bool     `json:"append"`
	LastChunk bool     `json:"lastChunk"`
}

// ReadEvent decodes a StreamResponse. A member that the gateway does not have is an error.
func ReadEvent(raw []byte) (*Event, error) {
	e := new(Event)
	if err := json.Unmarshal(raw, e); err != nil {
		return nil, err
	}
	n := 0
	for _, set := range []bool{e.Task != nil, e.Message != nil, e.StatusUpdate != nil, e.ArtifactUpdate != nil} {
		if set {
			n++
		}
	}
	if n != 1 {
		return nil, fmt.Errorf("an event has %d contents: %s", n, raw)
	}
	if err := e.check(); err != nil {
		return nil, fmt.Errorf("%w: %s", err, raw)
	}
	return e, nil
}

func (e *Event) check() error {
	switch {
	case e.Task != nil:
		return e.Task.Check()
	case e.Message != nil:
		return e.Message.check("message")
	case e.StatusUpdate != nil:
		if e.StatusUpdate.TaskID == "" {
			return fmt.Errorf("statusUpdate.taskId is missing")
		}
		return e.StatusUpdate.Status.check("statusUpdate.status")
	}
	if a := e.ArtifactUpdate; a.TaskID == "" || a.Artifact.ID == "" {
		return fmt.Errorf("artifactUpdate has no id")
	}
	return checkParts(e.ArtifactUpdate.Artifact.Parts, "artifactUpdate.artifact")
}

// Check returns an error for a task that the gateway would not send.
func (t *Task) Check() error {
	if t.ID == "" || t.ContextID == "" {
		return fmt.Errorf("task has no id, or no contextId")
	}
	for i := range t.History {
		if err := t.History[i].check("task.history"); err != nil {
			return err
		}
	}
	for i := range t.Artifacts {
		if err := checkParts(t.Artifacts[i].Parts, "task.artifacts"); err != nil {
			return err
		}
	}
	return t.Status.check("task.status")
}

func (s *Status) check(at string) error {
	if !slices.Contains(states, s.State) {
		return fmt.Errorf("%s.state: %q is not a state of RockBot's gateway", at, s.State)
	}
	if s.Message == nil {
		return nil
	}
	return s.Message.check(at + ".message")
}

func (m *Message) check(at string) error {
	if !slices.Contains(roles, m.Role) {
		return fmt.Errorf("%s.role: %q is not a role of RockBot's gateway", at, m.Role)
	}
	return checkParts(m.Parts, at)
}

func checkParts(parts []Part, at string) error {
	if len(parts) == 0 {
		return fmt.Errorf("%s has no parts", at)
	}
	for i, p := range parts {
		n := 0
		for _, set := range []bool{p.Text != nil, p.Raw != nil, p.URL != nil, p.Data != nil} {
			if set {
				n++
			}
		}
		if n != 1 {
			return fmt.Errorf("%s.parts[%d] has %d contents", at, i, n)
		}
	}
	return nil
}

// Text returns the concatenated texts of the parts.
func (m *Message) Text() string {
	if m == nil {
		return ""
	}
	var s string
	for _, p := range m.Parts {
		if p.Text != nil {
			s += *p.Text
		}
	}
	return s
}
