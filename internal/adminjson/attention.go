package adminjson

import (
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
)

// AttentionList is the answer of GET /api/v1/attention.
type AttentionList struct {
	Items []Attention `json:"items"`
	// Partial is set if there are more tasks than the hub looks at for one answer.
	Partial bool `json:"partial,omitempty"`
}

// Attention is a reason for which tasks of one agent need a person.
type Attention struct {
	// Code is one of Waiting, Quiet or Failed.
	Code  string `json:"code"`
	Agent string `json:"agent"`
	// Text is a sentence for people, without a period: that of Waiting, or the reason of the failures.
	Text string `json:"text"`
	// Count is the number of tasks. Since is when the first of them began to need a person, and Last when the
	// latest did.
	Count int       `json:"count"`
	Since time.Time `json:"since"`
	Last  time.Time `json:"last"`
	// TaskID is the oldest of the tasks, or the newest of those that have failed, and State its state. Owner is
	// its owner if it is not the caller.
	TaskID a2a.TaskID `json:"taskId"`
	State  string     `json:"state"`
	Owner  string     `json:"owner,omitempty"`
	// Command is a command that helps; empty if there is none for the caller.
	Command string `json:"command,omitempty"`
}

// Codes of Attention beside those of Waiting: an agent that works without output for a long time, and tasks that have
// failed within the last hour.
const (
	Quiet  = "quiet"
	Failed = "failed"
)

// Join adds the task of another item with the same reason.
func (a *Attention) Join(b *Attention) {
	a.Count += b.Count
	if b.Last.After(a.Last) {
		a.Last = b.Last
		if a.Code == Failed {
			a.TaskID, a.State, a.Owner = b.TaskID, b.State, b.Owner
		}
	}
	if b.Since.Before(a.Since) {
		a.Since = b.Since
		if a.Code != Failed {
			a.TaskID, a.State, a.Owner, a.Text, a.Command = b.TaskID, b.State, b.Owner, b.Text, b.Command
		}
	}
}
