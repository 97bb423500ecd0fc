package adminjson

import (
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
)

// TaskInfo is a task, without its messages.
type TaskInfo struct {
	TaskID    a2a.TaskID `json:"taskId"`
	ContextID string     `json:"contextId"`
	Agent     string     `json:"agent"`
	// Owner is the owner of the task, in a list of all owners; otherwise empty.
	Owner     string    `json:"owner,omitempty"`
	State     string    `json:"state"`
	CreatedAt time.Time `json:"createdAt"`
	ChangedAt time.Time `json:"changedAt"`
}

// TaskList is the answer of GET /api/v1/tasks.
type TaskList struct {
	Tasks []TaskInfo `json:"tasks"`
	// NextPageToken continues the list; empty at its end.
	NextPageToken string `json:"nextPageToken,omitempty"`
}
