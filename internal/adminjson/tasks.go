package adminjson

import (
	"encoding/json"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
)

// TaskInfo describes a task.
type TaskInfo struct {
	TaskID    a2a.TaskID `json:"taskId"`
	ContextID string     `json:"contextId"`
	Agent     string     `json:"agent"`
	// Owner is the owner of the task, in answers about the tasks of all owners; otherwise empty.
	Owner     string    `json:"owner,omitempty"`
	State     string    `json:"state"`
	CreatedAt time.Time `json:"createdAt"`
	ChangedAt time.Time `json:"changedAt"`
	// Assigned is the agent that performs the task instead of Agent, if an operator has moved it; otherwise empty.
	Assigned string `json:"assigned,omitempty"`
	// Reason is the text with which the task has failed, was rejected or canceled, on one line: at most 500 characters, in
	// answers about one task.
	Reason string `json:"reason,omitempty"`
	// Task is the task with its messages as JSON of the protocol, in answers about one task of
	// any owner; otherwise empty.
	Task json.RawMessage `json:"task,omitempty"`
	// Message is the beginning of the message that began the task, on one line: at most 80 characters of
	// its first text, or the name of its first file. It is in lists and logs; absent for a message
	// without either or of more than 64 KiB.
	Message string `json:"message,omitempty"`
	// Answer is the same of the answer, the question or the reason of a failure, once there is one; outside
	// of lists, of a question alone.
	Answer string `json:"answer,omitempty"`
	// Waiting is why the task does not proceed; nil if it has ended.
	Waiting *Waiting `json:"waiting,omitempty"`
	// QuietSince is the time of the last entry in the log of a task that is submitted or working: since then, its
	// agent has said nothing. It is absent for others.
	QuietSince *time.Time `json:"quietSince,omitempty"`
	// Attempt counts the runs of the last message, from 1; absent before the first one.
	Attempt int `json:"attempt,omitempty"`
	// InputTokens, OutputTokens and CostUSD are those that the agent has reported with the last status;
	// absent if it has reported none. A cost is known only where the price of a model is.
	InputTokens  int64   `json:"inputTokens,omitempty"`
	OutputTokens int64   `json:"outputTokens,omitempty"`
	CostUSD      float64 `json:"costUsd,omitempty"`
	// TraceURL is the address of the task's trace in the tracing system of the operator, for administrators;
	// absent without telemetry.trace_url, and for a task without a trace.
	TraceURL string `json:"traceUrl,omitempty"`
}

// WaitingIn is Waiting for a reader that has the state of the task from another answer: nil if the states
// differ, because the reason is that of the other one.
func (t *TaskInfo) WaitingIn(state a2a.TaskState) *Waiting {
	if a2a.TaskState(t.State) != state {
		return nil
	}
	return t.Waiting
}

// TaskCounts is the answer of GET /api/v1/counts.
type TaskCounts struct {
	// Counts are the numbers of tasks by the protocol's name of their state. States without
	// tasks are omitted.
	Counts map[string]int `json:"counts"`
	Total  int            `json:"total"`
}

// TaskList is the answer of GET /api/v1/tasks.
type TaskList struct {
	Tasks []TaskInfo `json:"tasks"`
	// NextPageToken continues the list; empty at its end.
	NextPageToken string `json:"nextPageToken,omitempty"`
	// Partial is set if a search may miss tasks because the index of texts is being built.
	Partial bool `json:"partial,omitempty"`
}

// TaskLog is a page of the log of a task.
type TaskLog struct {
	Task TaskInfo `json:"task"`
	// Version is the number of the last entry.
	Version int64 `json:"version"`
	// Worker is the agent that performs the task, if an operator has assigned it to another one.
	Worker string `json:"worker,omitempty"`
	// Attempt is the number of runs that have been started for the task.
	Attempt int64 `json:"attempt,omitempty"`
	// CancelRequested is set once a cancellation was requested.
	CancelRequested bool `json:"cancelRequested,omitempty"`
	// Revision is an opaque text that changes with the state, the run, the agent and the last message of the
	// task. Output of its agent does not change it.
	Revision string `json:"revision"`
	// Operations are those of an operator, with the reasons against them; absent for other callers.
	Operations []OperatorAction `json:"operations,omitempty"`
	// Entries are the entries in the order of their versions.
	Entries []LogEntry `json:"entries"`
	// Next is the value of after for the next page; absent at the end of the log.
	Next int64 `json:"next,omitempty"`
}

// OperatorAction is an operation of an operator on a task.
type OperatorAction struct {
	// Name is "redrive", "reassign", "cancel" or "fail".
	Name string `json:"name"`
	// Refused is why it is not possible now; absent if it is.
	Refused string `json:"refused,omitempty"`
}

// LogEntry is an entry of the log of a task.
type LogEntry struct {
	// Version is the number of the entry in its task, from 1.
	Version int64     `json:"version"`
	Time    time.Time `json:"time"`
	// Kind is "created", "message" for a further message of the caller, "status", "artifact" or
	// "other" for an event that the protocol does not define.
	Kind string `json:"kind"`
	// State is the state after an entry that sets one.
	State string `json:"state,omitempty"`
	// Attempt is the number of the run that the entry comes from; absent for an entry of the
	// caller or of the hub.
	Attempt int64 `json:"attempt,omitempty"`
	// Message is the message of the caller, or of the status. Artifact is the artifact, or a
	// chunk of it. Other is any other event. Each is JSON of the protocol.
	Message  json.RawMessage `json:"message,omitempty"`
	Artifact json.RawMessage `json:"artifact,omitempty"`
	Other    json.RawMessage `json:"other,omitempty"`
	// Append and LastChunk are those of an artifact's event.
	Append    bool `json:"append,omitempty"`
	LastChunk bool `json:"lastChunk,omitempty"`
	// Metadata is the metadata of a status or an artifact's event.
	Metadata json.RawMessage `json:"metadata,omitempty"`
	// Frames are the entry as streams of a dialect show it, if they were requested.
	Frames []json.RawMessage `json:"frames,omitempty"`
}
