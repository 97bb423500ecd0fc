package adminjson

import (
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
)

// Graph is the answer of GET /api/v1/graph: the calls between callers and agents, and their cost.
type Graph struct {
	// Since and Until are the time of the graph. A task belongs to it if its status last changed then.
	Since time.Time `json:"since"`
	Until time.Time `json:"until"`
	// Tasks is the number of tasks that are counted, the newest first.
	Tasks int `json:"tasks"`
	// Complete is set if all tasks of the time are counted. Otherwise Oldest is the time of the oldest
	// one that is.
	Complete bool       `json:"complete"`
	Oldest   *time.Time `json:"oldest,omitempty"`
	// Calls are ordered by their tasks, the most first. MoreCalls is the number of those that are not
	// listed.
	Calls     []Call `json:"calls"`
	MoreCalls int    `json:"moreCalls,omitempty"`
	// Spending lists the costs that agents have reported, the newest day and the highest cost first.
	// MoreSpending is the number of lines that are not listed.
	Spending     []Spending `json:"spending"`
	MoreSpending int        `json:"moreSpending,omitempty"`
}

// Call counts the tasks that a caller, or an agent on its behalf, has given to an agent.
type Call struct {
	// From is the owner of the tasks, or the name of the agent that has delegated them.
	From string `json:"from"`
	// Delegated is set if From is an agent.
	Delegated bool   `json:"delegated,omitempty"`
	To        string `json:"to"`
	Tasks     int    `json:"tasks"`
	// Open is the number of tasks that have not ended, and Failed of those that failed or were rejected.
	Open   int `json:"open,omitempty"`
	Failed int `json:"failed,omitempty"`
	// Newest is the task that changed last, and NewestFailed the last that failed.
	Newest       TaskRef  `json:"newest"`
	NewestFailed *TaskRef `json:"newestFailed,omitempty"`
}

// TaskRef names a task of an owner.
type TaskRef struct {
	TaskID a2a.TaskID `json:"taskId"`
	Owner  string     `json:"owner"`
}

// Spending is the reported cost of an agent's tasks of one owner on one day. Delegated tasks count for
// the owner on whose behalf they run.
type Spending struct {
	// Day is a date in UTC.
	Day          string  `json:"day"`
	Owner        string  `json:"owner"`
	Agent        string  `json:"agent"`
	Tasks        int     `json:"tasks"`
	InputTokens  int64   `json:"inputTokens"`
	OutputTokens int64   `json:"outputTokens"`
	CostUSD      float64 `json:"costUsd"`
}
