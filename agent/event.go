package agent

import (
	"iter"

	"github.com/a2aproject/a2a-go/v2/a2a"
)

// Status returns an event with a status of the task of x. Its message has the given parts;
// without parts the status has no message. The event has no timestamp: the hub sets one when it
// stores the event.
func Status(x a2a.TaskInfoProvider, state a2a.TaskState, parts ...*a2a.Part) *a2a.TaskStatusUpdateEvent {
	at := x.TaskInfo()
	e := &a2a.TaskStatusUpdateEvent{TaskID: at.TaskID, ContextID: at.ContextID, Status: a2a.TaskStatus{State: state}}
	if len(parts) > 0 {
		e.Status.Message = a2a.NewMessageForTask(a2a.MessageRoleAgent, x, parts...)
	}
	return e
}

// Artifact returns an event with a complete artifact of the task of x: LastChunk is set.
func Artifact(x a2a.TaskInfoProvider, a *a2a.Artifact) *a2a.TaskArtifactUpdateEvent {
	at := x.TaskInfo()
	return &a2a.TaskArtifactUpdateEvent{TaskID: at.TaskID, ContextID: at.ContextID, Artifact: a, LastChunk: true}
}

// ConfirmCancel returns an event that confirms the cancellation of the task of x. It is for the
// Cancel method of executors whose runs stop with their context.
func ConfirmCancel(x a2a.TaskInfoProvider) iter.Seq2[a2a.Event, error] {
	return func(yield func(a2a.Event, error) bool) {
		yield(a2a.NewStatusUpdateEvent(x, a2a.TaskStateCanceled, nil), nil)
	}
}
