package builtin

import (
	"bytes"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2asrv"

	"github.com/parley-a2a/parley/agent"
	"github.com/parley-a2a/parley/internal/json/rawjson"
)

// status returns a status event. With parts, it has a message of them. It has no
// timestamp: the hub stamps what it stores.
func status(ec *a2asrv.ExecutorContext, state a2a.TaskState, parts ...*a2a.Part) *a2a.TaskStatusUpdateEvent {
	e := &a2a.TaskStatusUpdateEvent{
		TaskID:    ec.TaskID,
		ContextID: ec.ContextID,
		Status:    a2a.TaskStatus{State: state},
	}
	if len(parts) > 0 {
		e.Status.Message = a2a.NewMessageForTask(a2a.MessageRoleAgent, ec, parts...)
	}
	return e
}

// rawStatus returns a status event whose message has parts that are JSON.
func rawStatus(state a2a.TaskState, parts [][]byte) *agent.Raw {
	b := rawjson.AppendString([]byte(`{"statusUpdate":{"status":{"state":`), string(state))
	b = append(b, `,"message":{"role":"ROLE_AGENT","parts":[`...)
	b = append(b, bytes.Join(parts, []byte(","))...)
	return &agent.Raw{JSON: append(b, `]}}}}`...)}
}

// whole returns the event of an artifact that comes in one piece.
func whole(ec *a2asrv.ExecutorContext, a *a2a.Artifact) *a2a.TaskArtifactUpdateEvent {
	return &a2a.TaskArtifactUpdateEvent{
		TaskID:    ec.TaskID,
		ContextID: ec.ContextID,
		Artifact:  a,
		LastChunk: true,
	}
}

// say yields events in order until one is refused, and reports whether none was.
func say(yield yieldFunc, events ...a2a.Event) bool {
	for _, e := range events {
		if !yield(e, nil) {
			return false
		}
	}
	return true
}

// dataField returns the value of a field in the first data part of m that has it.
func dataField(m *a2a.Message, field string) (any, bool) {
	if m == nil {
		return nil, false
	}
	for _, p := range m.Parts {
		if object, ok := p.Data().(map[string]any); ok {
			if v, ok := object[field]; ok {
				return v, true
			}
		}
	}
	return nil, false
}
