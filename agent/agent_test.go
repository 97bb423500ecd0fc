package agent_test

import (
	"context"
	"errors"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2asrv"

	"github.com/parley-a2a/parley/agent"
	"github.com/parley-a2a/parley/internal/execution"
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

// brokenRun is a run whose Flush fails.
type brokenRun struct {
	*agent.Call
	err   error
	saved []byte
	asked chan struct{}
}

func (r *brokenRun) Flush(context.Context) error { return r.err }

func (r *brokenRun) Checkpoint(blob []byte) error {
	r.saved = blob
	return nil
}

func (r *brokenRun) MessageWaiting() <-chan struct{} { return r.asked }

func TestRun(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	if err := agent.CallFrom(ctx).Flush(ctx); err != nil || agent.CallFrom(ctx) != nil || agent.CallFrom(ctx).MessageWaiting() != nil {
		t.Errorf("Flush outside a hub = %v", err)
	}
	if err := agent.CallFrom(ctx).Checkpoint([]byte("x")); err != nil {
		t.Errorf("Checkpoint outside a hub = %v", err)
	}
	r := &brokenRun{err: errors.New("disk"), asked: make(chan struct{})}
	ctx = agent.WithCall(execution.WithRun(ctx, r), &agent.Call{Key: "k"})
	if err := agent.CallFrom(ctx).Flush(ctx); !errors.Is(err, r.err) || agent.CallFrom(ctx).Key != "k" {
		t.Errorf("Flush = %v, want the error of the hub", err)
	}
	if err := agent.CallFrom(ctx).Checkpoint([]byte("here")); err != nil || string(r.saved) != "here" {
		t.Errorf("Checkpoint = %v, the hub has %q", err, r.saved)
	}
	if err := agent.CallFrom(ctx).Checkpoint(make([]byte, agent.MaxCheckpoint+1)); !errors.Is(err, agent.ErrCheckpoint) || string(r.saved) != "here" {
		t.Errorf("Checkpoint of too much = %v, want ErrCheckpoint", err)
	}
	if agent.CallFrom(ctx).MessageWaiting() != r.asked {
		t.Error("MessageWaiting is not the channel of the hub")
	}
}
