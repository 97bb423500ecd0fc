package agent_test

import (
	"context"
	"errors"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2asrv"

	"github.com/parley-a2a/parley/agent"
)

func TestText(t *testing.T) {
	t.Parallel()
	tests := []struct {
		m    *a2a.Message
		want string
	}{
		{nil, ""},
		{&a2a.Message{}, ""},
		{a2a.NewMessage(a2a.MessageRoleUser, a2a.NewTextPart("a"), a2a.NewRawPart([]byte("x")), a2a.NewTextPart("b")), "a\nb"},
	}
	for _, tt := range tests {
		if got := agent.Text(tt.m); got != tt.want {
			t.Errorf("Text(%+v) = %q, want %q", tt.m, got, tt.want)
		}
	}
}

func TestFuncConfirmsCancellation(t *testing.T) {
	t.Parallel()
	f := agent.Func(func(context.Context, *a2asrv.ExecutorContext, func(a2a.Event, error) bool) {})
	var states []a2a.TaskState
	for ev, err := range f.Cancel(t.Context(), &a2asrv.ExecutorContext{TaskID: "t"}) {
		if err != nil {
			t.Fatal(err)
		}
		states = append(states, ev.(*a2a.TaskStatusUpdateEvent).Status.State)
	}
	if len(states) != 1 || states[0] != a2a.TaskStateCanceled {
		t.Errorf("Cancel yields %v, want CANCELED", states)
	}
}

func TestFlush(t *testing.T) {
	t.Parallel()
	if err := agent.Flush(t.Context()); err != nil || agent.CallFrom(t.Context()) != nil {
		t.Errorf("Flush outside a hub = %v", err)
	}
	broken := errors.New("disk")
	ctx := agent.WithCall(t.Context(), agent.NewCall(agent.Call{Key: "k"}, func(context.Context) error { return broken }))
	if err := agent.Flush(ctx); !errors.Is(err, broken) || agent.CallFrom(ctx).Key != "k" {
		t.Errorf("Flush = %v, want what the hub says", err)
	}
}
