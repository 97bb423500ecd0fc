package operator_test

import (
	"context"
	"errors"
	"iter"
	"slices"
	"strings"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2asrv"
	"go.uber.org/goleak"

	"github.com/parley-a2a/parley/auth"
	"github.com/parley-a2a/parley/internal/directory/dirstore"
	"github.com/parley-a2a/parley/internal/engine"
	"github.com/parley-a2a/parley/internal/engine/operator"
	"github.com/parley-a2a/parley/internal/limits"
	"github.com/parley-a2a/parley/internal/op"
	"github.com/parley-a2a/parley/internal/store/memstore"
	"github.com/parley-a2a/parley/internal/task"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// hangs works until its context ends.
type hangs struct{}

func (hangs) Execute(ctx context.Context, _ *a2asrv.ExecutorContext) iter.Seq2[a2a.Event, error] {
	return func(func(a2a.Event, error) bool) { <-ctx.Done() }
}

func (hangs) Cancel(context.Context, *a2asrv.ExecutorContext) iter.Seq2[a2a.Event, error] {
	return func(func(a2a.Event, error) bool) {}
}

// answers completes at once.
type answers struct{ hangs }

func (answers) Execute(_ context.Context, ec *a2asrv.ExecutorContext) iter.Seq2[a2a.Event, error] {
	return func(yield func(a2a.Event, error) bool) {
		yield(a2a.NewStatusUpdateEvent(ec, a2a.TaskStateCompleted, nil), nil)
	}
}

// newOperator returns an operator with the agents slow and quick, whose engine works until the
// test ends.
func newOperator(t *testing.T, notes dirstore.Notes) (*operator.Operator, *engine.Engine) {
	t.Helper()
	store := new(memstore.Store)
	e := engine.New(engine.Config{Store: store, Limits: limits.Limits{DrainTimeout: -1}})
	for name, x := range map[task.Agent]a2asrv.AgentExecutor{"slow": hangs{}, "quick": answers{}} {
		if err := e.Register(engine.Agent{Name: name, Card: &a2a.AgentCard{Name: string(name)}, Executor: x}); err != nil {
			t.Fatal(err)
		}
	}
	d := &operator.Operator{Engine: e, Tasks: store, Notes: notes}
	if err := d.Open(t.Context()); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error)
	go func() { done <- e.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		<-done
	})
	return d, e
}

// send creates a task of a caller with an agent.
func send(t *testing.T, e *engine.Engine, caller string, id a2a.TaskID, name task.Agent) {
	t.Helper()
	r := &op.Send{
		Target: op.Target{Agent: name}, ReturnImmediately: true, NewIDs: true,
		Message: op.Message{ID: "m", TaskID: id, MediaTypes: []string{""}, Body: []byte(`{"messageId":"m","role":"ROLE_USER","parts":[{"text":"hi"}]}`)},
	}
	if _, err := e.Send(t.Context(), &op.Caller{Principal: &auth.Principal{ID: caller}}, r); err != nil {
		t.Fatal(err)
	}
}

func TestOperator(t *testing.T) {
	t.Parallel()
	d, e := newOperator(t, new(dirstore.Memory))
	send(t, e, "ann", "t1", "slow")
	send(t, e, "bob", "t1", "slow")
	one := operator.Target{ID: "t1"}
	_, err := d.Redrive(t.Context(), one)
	if !errors.Is(err, operator.ErrAmbiguous) || !strings.Contains(err.Error(), "ann, ") {
		t.Errorf("Redrive of an id that two have = %v", err)
	}
	if _, err := d.Fail(t.Context(), operator.Target{ID: "t2"}, ""); !errors.Is(err, task.ErrNotFound) {
		t.Errorf("Fail of no task = %v", err)
	}
	one.Owner = (&auth.Principal{ID: "ann"}).Owner()
	if h, err := d.Redrive(t.Context(), one); err != nil || h.State.Terminal() {
		t.Errorf("Redrive = %v, %v", h.State, err)
	}
	if h, err := d.Reassign(t.Context(), one, "quick"); err != nil || h.Assigned != "quick" {
		t.Errorf("Reassign = %+v, %v", h, err)
	}
	one.Owner = (&auth.Principal{ID: "bob"}).Owner()
	if _, err := d.Fail(t.Context(), one, strings.Repeat("x", 3000)); !errors.Is(err, operator.ErrReason) {
		t.Errorf("Fail with a long reason = %v", err)
	}
	h, err := d.Fail(t.Context(), one, " ")
	if err != nil || h.State != task.Failed || task.TextOf(h.StatusMessage) != "ended by the operator of the hub" {
		t.Errorf("Fail = %v, %q, %v", h.State, task.TextOf(h.StatusMessage), err)
	}
}

func TestPauseIsKept(t *testing.T) {
	t.Parallel()
	notes := new(dirstore.Memory)
	d, _ := newOperator(t, notes)
	for _, name := range []task.Agent{"slow", "later", "slow"} {
		if err := d.Pause(t.Context(), operator.Pause{Agent: name, By: "ann", Reason: " an upgrade of " + string(name)}); err != nil {
			t.Fatal(err)
		}
	}
	again, _ := newOperator(t, notes)
	if got, want := again.Paused(), []task.Agent{"later", "slow"}; !slices.Equal(got, want) {
		t.Errorf("after a restart %v are paused, want %v", got, want)
	}
	if err := again.Resume(t.Context(), "slow"); err != nil || again.IsPaused("slow") || !again.IsPaused("later") {
		t.Errorf("Resume = %v, paused are %v", err, again.Paused())
	}
	if p, paused := again.PauseOf("later"); !paused || p.By != "ann" || p.At.IsZero() || p.Reason != "an upgrade of later" {
		t.Errorf("PauseOf = %+v, %v; want the operator, the time and the reason", p, paused)
	}
	if err := notes.PutNote(t.Context(), "paused agents", []byte(`["slow"]`)); err != nil { // of an earlier version
		t.Fatal(err)
	}
	former, _ := newOperator(t, notes)
	if p, paused := former.PauseOf("slow"); !paused || p != (operator.Pause{Agent: "slow"}) || !former.IsPaused("slow") {
		t.Errorf("PauseOf the pause of an earlier version = %+v, %v", p, paused)
	}
	if err := notes.PutNote(t.Context(), "paused agents", []byte("{")); err != nil {
		t.Fatal(err)
	}
	if err := again.Open(t.Context()); err == nil {
		t.Error("Open returns no error for a broken note")
	}
	if err := again.Pause(t.Context(), operator.Pause{Agent: "slow", By: "ann"}); err == nil || again.IsPaused("slow") {
		t.Errorf("Pause over a broken note = %v, and it counts: %v", err, again.IsPaused("slow"))
	}
}
