package adminjson

import (
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
)

// Waiting is why a task does not proceed.
type Waiting struct {
	// Code is the stable name of the reason.
	Code string `json:"code"`
	// Text is a sentence for people, without a period.
	Text string `json:"text"`
	// Command is a command that helps; empty if there is none for the caller.
	Command string `json:"command,omitempty"`
	// Behind is the task that holds this one up: one of its context that runs, one that a worker of its agent has,
	// or the one to which it has delegated. It is nil without one that the caller may read.
	Behind *Blocker `json:"behind,omitempty"`
}

// Blocker is a task that another one waits for.
type Blocker struct {
	TaskID a2a.TaskID `json:"taskId"`
	// Owner is the owner of the task if it is not the caller.
	Owner string `json:"owner,omitempty"`
	Agent string `json:"agent"`
	State string `json:"state"`
	// QuietSince is that of TaskInfo.
	QuietSince *time.Time `json:"quietSince,omitempty"`
}

// Codes of Waiting.
const (
	WaitsForAnswer     = "input-required"
	WaitsForPermission = "auth-required"
	WaitsForStore      = "store-failed"
	WaitsForAgent      = "agent-missing"
	WaitsForResume     = "agent-paused"
	WaitsForContext    = "context-busy"
	WaitsForRun        = "run-limit"
	WaitsForRecovery   = "recovering"
	WaitsForBroker     = "broker-down"
	WaitsForWorker     = "no-worker"
	WaitsInQueue       = "in-queue"
	WaitsForRemote     = "agent-down"
	WaitsForChild      = "delegated"
	Runs               = "running"
)

// WaitingCodes are all codes of Waiting.
var WaitingCodes = []string{
	WaitsForAnswer, WaitsForPermission, WaitsForStore, WaitsForAgent, WaitsForResume, WaitsForContext, WaitsForRun,
	WaitsForRecovery, WaitsForBroker, WaitsForWorker, WaitsInQueue, WaitsForRemote, WaitsForChild,
	Runs,
}

// Held reports whether something holds the task up. A nil Waiting is of a task that has ended, or of a
// server that does not say.
func (w *Waiting) Held() bool { return w != nil && w.Code != Runs }

// HeldBy returns the code of what holds the task up; "" if nothing does.
func (w *Waiting) HeldBy() string {
	if !w.Held() {
		return ""
	}
	return w.Code
}
