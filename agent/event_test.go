package agent_test

import (
	"context"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2asrv"
	"github.com/google/go-cmp/cmp"

	"github.com/parley-a2a/parley/agent"
	"github.com/parley-a2a/parley/auth"
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

func TestWithUser(t *testing.T) {
	t.Parallel()
	tests := []struct {
		principal auth.Principal
		want      a2asrv.User
	}{
		{auth.Principal{ID: "ann"}, a2asrv.User{Name: "ann", Authenticated: true, Attributes: map[string]any{"id": "ann"}}},
		{
			auth.Principal{ID: "ann", DisplayName: "Ann", Claims: map[string]string{"team": "red"}},
			a2asrv.User{Name: "Ann", Authenticated: true, Attributes: map[string]any{"id": "ann", "team": "red"}},
		},
		{auth.Principal{ID: auth.Local}, a2asrv.User{Name: auth.Local}},
		{
			auth.Principal{ID: auth.Local, Claims: map[string]string{"team": "red"}},
			a2asrv.User{Name: auth.Local, Attributes: map[string]any{"id": auth.Local, "team": "red"}},
		},
	}
	for _, tt := range tests {
		x := &a2asrv.ExecutorContext{ServiceParams: a2asrv.NewServiceParams(nil)}
		ctx := agent.WithUser(t.Context(), x, &tt.principal, []string{"urn:x"})
		if diff := cmp.Diff(&tt.want, x.User); diff != "" {
			t.Errorf("user of %+v (-want +got):\n%s", tt.principal, diff)
		}
		if got := auth.PrincipalFrom(ctx); got != &tt.principal {
			t.Errorf("principal = %+v, want %+v", got, tt.principal)
		}
		call, ok := a2asrv.CallContextFrom(ctx)
		if !ok || call.User != x.User || !call.Extensions().Active(&a2a.AgentExtension{URI: "urn:x"}) {
			t.Errorf("call context = %+v, %t", call, ok)
		}
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
