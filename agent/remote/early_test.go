package remote_test

import (
	"context"
	"errors"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2asrv"

	"github.com/parley-a2a/parley/agent"
	"github.com/parley-a2a/parley/agent/remote"
	"github.com/parley-a2a/parley/internal/execution"
)

// lostRun is a run whose task could not be stored.
type lostRun struct{ *agent.Call }

func (lostRun) Flush(context.Context) error { return errors.New("the task could not be stored") }

// TestNothingIsSentForATaskThatIsNotStored: the run begins while its message is stored, and the peer
// must not receive a message that the hub does not know.
func TestNothingIsSentForATaskThatIsNotStored(t *testing.T) {
	t.Parallel()
	p := &fakePeer{turns: []turn{{answer: task0(snap("COMPLETED", "", ""))}}}
	a := &remote.Agent{URL: p.start(t), Unpinned: true}
	defer a.Close()
	x := &a2asrv.ExecutorContext{
		Message: a2a.NewMessage(a2a.MessageRoleUser, a2a.NewTextPart("hi")), TaskID: "t", ContextID: "c",
	}
	call := &agent.Call{Key: "t/1", Attempt: 1, Agent: "far", Message: newSend("hi").Message.Body}
	ctx := agent.WithCall(execution.WithRun(execution.WithUser(t.Context(), x, alice.Principal, nil), lostRun{}), call)
	for ev, err := range a.Execute(ctx, x) {
		t.Errorf("the run yields %v, %v, want nothing", ev, err)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.sent != 0 {
		t.Errorf("the peer has received %q", p.asked)
	}
}
