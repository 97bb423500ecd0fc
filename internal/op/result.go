package op

import (
	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/internal/task"
)

// Answer is the state of a task at one moment, or a bare message.
type Answer struct {
	// Head is the task's head. Its Version is that of Fold.
	Head task.Head
	// Fold is the whole task. If nil, the task is shown without history and artifacts.
	Fold *task.Fold
	// Message is a bare message as v1.0 JSON; if set, there is no task.
	Message []byte
	// History limits the length of the history to show; nil means no limit.
	History *int
}

// Page is the answer of ListTasks.
type Page struct {
	// Tasks have a nil Fold unless the caller asked for artifacts or history.
	Tasks         []Answer
	NextPageToken string
	PageSize      int
	TotalSize     int
	// Artifacts is set if artifacts are to be shown, even if empty.
	Artifacts bool
	// Partial is set if a search may miss tasks, because their texts are not indexed yet.
	Partial bool
}

// ShownPush is the public view of a push notification config. It has no fields for tokens and
// credentials: the caller that registered them has them, and no other caller may read them.
type ShownPush struct {
	TaskID a2a.TaskID
	ID     string
	URL    string
	// Scheme is the authentication scheme; it is empty if the config has none.
	Scheme string
}

// PushPage is the answer of ListTaskPushNotificationConfigs.
type PushPage struct {
	Configs []ShownPush
	// NextPageToken is empty on the last page.
	NextPageToken string
}
