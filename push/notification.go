package push

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/internal/task"
)

// Kind is the kind of a notification.
type Kind string

// The kinds of notifications.
const (
	// KindTask is a whole task.
	KindTask Kind = "task"
	// KindMessage is a message.
	KindMessage Kind = "message"
	// KindStatus is a new status of a task.
	KindStatus Kind = "status"
	// KindArtifact is an artifact or a piece of one.
	KindArtifact Kind = "artifact"
)

// Notification is a notification that a Receiver has accepted.
type Notification struct {
	// ID is the same each time the same notification is sent; empty if the sender gives none
	// (header webhook-id).
	ID string
	// At is the time of sending by the sender's clock; zero if the sender gives none (header
	// webhook-timestamp).
	At time.Time
	// Kind is one of the four kinds.
	Kind Kind
	// TaskID and ContextID are those of the task. A message may have none.
	TaskID    a2a.TaskID
	ContextID string
	// State is that of a task or a status; empty for other kinds.
	State a2a.TaskState
	// Old is set for payloads of protocol v0.3, which have another form.
	Old bool
	// Proofs lists the checks that the sender has passed: "token", "authorization" and
	// "signature". It is empty if the receiver requires none.
	Proofs []string
	// Repeated is set if a notification with the same ID was handled before.
	Repeated bool
	// Body is the payload as received.
	Body json.RawMessage
}

// Event returns the payload as a value of the SDK: a *a2a.Task, *a2a.Message,
// *a2a.TaskStatusUpdateEvent or *a2a.TaskArtifactUpdateEvent. It fails for payloads of protocol
// v0.3.
func (n *Notification) Event() (a2a.Event, error) {
	if n.Old {
		return nil, fmt.Errorf("notification about task %s: its payload is of protocol v0.3", n.TaskID)
	}
	event, err := task.DecodeEvent(n.Body)
	if err != nil {
		return nil, fmt.Errorf("notification about task %s: %w", n.TaskID, err)
	}
	return event, nil
}

// subject holds the fields of a payload that describe its task.
type subject struct {
	ID        string `json:"id"`
	TaskID    string `json:"taskId"`
	ContextID string `json:"contextId"`
	Status    struct {
		State string `json:"state"`
	} `json:"status"`
}

// payload is a StreamResponse (specification §3.2.3), or in protocol v0.3 the task or event
// itself with its kind.
type payload struct {
	Task           *subject `json:"task"`
	Message        *subject `json:"message"`
	StatusUpdate   *subject `json:"statusUpdate"`
	ArtifactUpdate *subject `json:"artifactUpdate"`
	OldKind        string   `json:"kind"`
}

func decode(body []byte) (*Notification, error) {
	var p payload
	if err := json.Unmarshal(body, &p); err != nil {
		return nil, fmt.Errorf("the body is not a notification: %w", err)
	}
	n := &Notification{Body: body}
	var s *subject
	for kind, arm := range map[Kind]*subject{
		KindTask: p.Task, KindMessage: p.Message, KindStatus: p.StatusUpdate, KindArtifact: p.ArtifactUpdate,
	} {
		if arm == nil {
			continue
		}
		if s != nil {
			return nil, fmt.Errorf("the body has both a %s and a %s", min(n.Kind, kind), max(n.Kind, kind))
		}
		n.Kind, s = kind, arm
	}
	if s == nil {
		return n, n.old(p.OldKind)
	}
	return n, n.about(s)
}

// oldKinds are the kinds of protocol v0.3.
var oldKinds = map[string]Kind{
	"task": KindTask, "message": KindMessage, "status-update": KindStatus, "artifact-update": KindArtifact,
}

// old decodes a payload of protocol v0.3.
func (n *Notification) old(kind string) error {
	n.Kind, n.Old = oldKinds[kind], true
	if n.Kind == "" {
		return fmt.Errorf("the body has no task, message, statusUpdate or artifactUpdate")
	}
	var s subject
	if err := json.Unmarshal(n.Body, &s); err != nil {
		return fmt.Errorf("the body is not a notification: %w", err)
	}
	if state := s.Status.State; state != "" {
		s.Status.State = "TASK_STATE_" + strings.ToUpper(strings.ReplaceAll(state, "-", "_"))
	}
	return n.about(&s)
}

// about copies the ids and the state of the task, and checks that the required ones are
// present.
func (n *Notification) about(s *subject) error {
	n.TaskID, n.ContextID = a2a.TaskID(s.TaskID), s.ContextID
	if n.Kind == KindTask {
		n.TaskID = a2a.TaskID(s.ID)
	}
	if n.Kind == KindTask || n.Kind == KindStatus {
		n.State = a2a.TaskState(s.Status.State)
		if n.State == "" {
			return fmt.Errorf("the %s has no state", n.Kind)
		}
	}
	if n.TaskID == "" && n.Kind != KindMessage {
		return fmt.Errorf("the %s does not name its task", n.Kind)
	}
	return nil
}
