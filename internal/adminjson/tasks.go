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
	// Task is the task with its messages as JSON of the protocol, in answers about one task of
	// any owner; otherwise empty.
	Task json.RawMessage `json:"task,omitempty"`
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
}
