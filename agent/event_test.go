package agent_test

import (
	"context"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2asrv"
	"github.com/google/go-cmp/cmp"

	"github.com/parley-a2a/parley/agent"
)

func TestEvents(t *testing.T) {
	t.Parallel()
	x := &a2asrv.ExecutorContext{TaskID: "t", ContextID: "c"}
	plain := agent.Status(x, a2a.TaskStateWorking)
	want := &a2a.TaskStatusUpdateEvent{TaskID: "t", ContextID: "c", Status: a2a.TaskStatus{State: a2a.TaskStateWorking}}
	if diff := cmp.Diff(want, plain); diff != "" {
		t.Errorf("Status without parts (-want +got):\n%s", diff)
	}
	part := a2a.NewTextPart("hello")
	m := agent.Status(x, a2a.TaskStateCompleted, part).Status.Message
	if m == nil || m.ID == "" || m.TaskID != "t" || m.ContextID != "c" || m.Role != a2a.MessageRoleAgent || len(m.Parts) != 1 || m.Parts[0] != part {
		t.Errorf("the message of a status is %+v", m)
	}
	artifact := &a2a.Artifact{ID: "a", Parts: a2a.ContentParts{part}}
	whole := &a2a.TaskArtifactUpdateEvent{TaskID: "t", ContextID: "c", Artifact: artifact, LastChunk: true}
	if diff := cmp.Diff(whole, agent.Artifact(x, artifact)); diff != "" {
		t.Errorf("Artifact (-want +got):\n%s", diff)
	}
}

func TestConfirmCancel(t *testing.T) {
	t.Parallel()
	x := &a2asrv.ExecutorContext{TaskID: "t", ContextID: "c"}
	for _, cancel := range []a2asrv.AgentExecutor{agent.Func(nil), agent.With(agent.Func(nil), agent.Traits{Serial: true})} {
		n := 0
		for ev, err := range cancel.Cancel(context.Background(), x) {
			s, ok := ev.(*a2a.TaskStatusUpdateEvent)
			if n++; err != nil || !ok || s.TaskID != "t" || s.Status.State != a2a.TaskStateCanceled {
				t.Errorf("Cancel yields %+v, %v", ev, err)
			}
		}
		if n != 1 {
			t.Errorf("Cancel yields %d events, want 1", n)
		}
	}
}
