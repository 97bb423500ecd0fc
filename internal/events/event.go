package events

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/internal/clip"
	"github.com/parley-a2a/parley/internal/task"
)

// Types of events. Names are stable. Entries of the audit log have the type "audit." and the
// name of their action.
const (
	TaskCreated      = "task.created"
	TaskMessage      = "task.message"
	TaskStatus       = "task.status"
	TaskArtifact     = "task.artifact"
	TaskOther        = "task.other"
	WorkerClaimed    = "worker.claimed"
	WorkerLost       = "worker.lost"
	WebhookDelivered = "webhook.delivered"
	WebhookRetry     = "webhook.retry"
	WebhookFailed    = "webhook.failed"
	AgentHealth      = "agent.health"
	AgentCard        = "agent.card"
	AgentGone        = "agent.gone"
	InboxOpen        = "inbox.open"
	InboxSettled     = "inbox.settled"
	DeadLetter       = "dead.letter"
	HubStarted       = "hub.started"
	HubStopped       = "hub.stopped"
	Audit            = "audit."
	// Gap stands for events that the reader does not get.
	Gap = "gap"
	// StreamEnd is the final event of a stream that the hub ends.
	StreamEnd = "stream.end"
)

// families are the families of types, with the types of each that have a fixed name.
var families = map[string][]string{
	"task":    {TaskCreated, TaskMessage, TaskStatus, TaskArtifact, TaskOther},
	"worker":  {WorkerClaimed, WorkerLost},
	"webhook": {WebhookDelivered, WebhookRetry, WebhookFailed},
	"agent":   {AgentHealth, AgentCard, AgentGone},
	"inbox":   {InboxOpen, InboxSettled},
	"dead":    {DeadLetter},
	"hub":     {HubStarted, HubStopped},
	"audit":   nil,
}

// Families returns the families of types in alphabetical order.
func Families() []string { return slices.Sorted(maps.Keys(families)) }

// KnownKind reports whether kind is a type or a family of types. Below "audit.", every name is
// a type.
func KnownKind(kind string) bool {
	family, _, found := strings.Cut(kind, ".")
	types, known := families[family]
	return known && (!found || family == "audit" || slices.Contains(types, kind))
}

// Event is something that happened in a hub. Empty fields do not apply.
type Event struct {
	// ID is the position after the event, from which a reader can continue. Empty for a notice
	// that is not stored yet.
	ID string `json:"id,omitempty"`
	// Type is one of the types above.
	Type string `json:"type"`
	// Time is the time of the event. Later events may have earlier times.
	Time time.Time `json:"time"`
	// Owner, Agent, Task and Context are those of the task, or of the subject of a notice.
	Owner   task.Owner `json:"owner,omitempty"`
	Agent   task.Agent `json:"agent,omitempty"`
	Task    a2a.TaskID `json:"task,omitempty"`
	Context string     `json:"context,omitempty"`
	// Data are further members by type. Its texts come from callers and agents.
	Data map[string]any `json:"data,omitempty"`
}

const (
	// maxText is the maximum number of characters of a text in the data of an event.
	maxText = 240
	// maxName is the maximum number of characters of an id in a notice. Ids are shorter, except
	// those that were made to be long.
	maxName = 512
)

// ofEntry returns the event of an entry of a task.
func ofEntry(h *task.Head, e *task.Entry) Event {
	data := map[string]any{"version": e.Version}
	set := func(name, value string) {
		if value != "" {
			data[name] = value
		}
	}
	typ := TaskOther
	switch e.Kind {
	case task.Created, task.Message:
		typ = TaskMessage
		if e.Kind == task.Created {
			typ = TaskCreated
			set("state", e.State.String())
		}
		set("text", excerpt(e.Body))
	case task.Status:
		typ = TaskStatus
		set("state", e.State.String())
		set("text", excerpt(e.Body))
		if e.State.Interrupted() || strings.Contains(string(e.Meta), `"parley.question"`) {
			data["question"] = true
		}
	case task.Artifact:
		typ = TaskArtifact
		set("artifactId", string(e.ArtifactID))
		set("text", excerpt(e.Body))
		data["append"], data["lastChunk"], data["bytes"] = e.Append, e.LastChunk, len(e.Body)
	}
	return Event{
		Type: typ, Time: e.At.Time().UTC(), Owner: h.Owner, Agent: h.Performer(), Task: h.ID, Context: h.ContextID, Data: data,
	}
}

// excerpt returns the beginning of the text of a message.
func excerpt(body []byte) string {
	return clip.Runes(strings.TrimSpace(task.TextOf(body)), maxText)
}

// encode returns an event as a notice.
func encode(e *Event) []byte {
	e.Time = e.Time.UTC()
	e.Owner, e.Agent = task.Owner(clip.Runes(string(e.Owner), maxName)), task.Agent(clip.Runes(string(e.Agent), maxName))
	e.Task, e.Context = a2a.TaskID(clip.Runes(string(e.Task), maxName)), clip.Runes(e.Context, maxName)
	e.Data = maps.Clone(e.Data)
	for k, v := range e.Data {
		if s, ok := v.(string); ok {
			e.Data[k] = clip.Runes(s, maxText)
		}
	}
	b, err := json.Marshal(e)
	if err != nil || len(b) > task.MaxNotice {
		b, _ = json.Marshal(&Event{Type: e.Type, Time: e.Time, Data: map[string]any{"shortened": true}}) // strings and times always marshal
	}
	return b
}

// Filter selects events. Zero fields do not filter. Gap and StreamEnd are always selected.
type Filter struct {
	Owner   task.Owner
	Agent   task.Agent
	Task    a2a.TaskID
	Context string
	// Types are types, or families of types such as "task".
	Types []string
}

// Selects reports whether a reader with the filter gets an event.
func (f *Filter) Selects(e *Event) bool {
	if e.Type == Gap || e.Type == StreamEnd {
		return true
	}
	return (f.Owner == "" || f.Owner == e.Owner) && (f.Agent == "" || f.Agent == e.Agent) &&
		(f.Task == "" || f.Task == e.Task) && (f.Context == "" || f.Context == e.Context) && f.selectsType(e.Type)
}

func (f *Filter) selectsType(typ string) bool {
	within := func(t string) bool { return typ == t || strings.HasPrefix(typ, t+".") }
	return len(f.Types) == 0 || slices.ContainsFunc(f.Types, within)
}
