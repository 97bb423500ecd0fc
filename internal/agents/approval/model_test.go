package approval_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2asrv"

	"github.com/parley-a2a/parley/agent"
	"github.com/parley-a2a/parley/internal/inbox"
	"github.com/parley-a2a/parley/internal/op"
	"github.com/parley-a2a/parley/internal/trust"
	"github.com/parley-a2a/parley/task"
)

// TestInterruptedAnywhere stops hubs at random moments between request, decision and run. An
// action without approval must not happen, an approved one at most once, and every task must
// report its outcome.
func TestInterruptedAnywhere(t *testing.T) {
	t.Parallel()
	for seed := range uint64(60) {
		synctest.Test(t, func(t *testing.T) {
			w, r := newFixture(t), rand.New(rand.NewPCG(seed, 7))
			w.set("bob", trust.Propose)
			w.agent = func(ctx context.Context, ec *a2asrv.ExecutorContext, yield func(a2a.Event, error) bool) {
				select {
				case <-time.After(3 * time.Millisecond):
					yield(status(ec, a2a.TaskStateCompleted, "done: "+agent.Text(ec.Message)), nil)
				case <-ctx.Done():
				}
			}
			w.start()
			tasks := map[string]a2a.TaskID{}
			for i := range 8 {
				w.act(r, tasks, fmt.Sprint("task ", i))
				// A few microseconds to milliseconds: between the steps of a run.
				time.Sleep(time.Duration(r.IntN(4000)) * time.Microsecond)
				synctest.Wait()
				if r.IntN(2) == 0 {
					w.stop()
					w.start()
				}
			}
			w.settle()
			for text, id := range tasks {
				w.sound(seed, text, id)
			}
			w.stop()
		})
	}
}

// act sends a message, and settles some of the open items.
func (w *fixture) act(r *rand.Rand, tasks map[string]a2a.TaskID, text string) {
	w.t.Helper()
	body := fmt.Sprintf(`{"messageId":"m-%s","role":"ROLE_USER","parts":[{"text":%q}]}`, text, text)
	a, err := w.hub.Send(w.t.Context(), bob, &op.Send{
		Target: op.Target{Agent: "desk"}, ReturnImmediately: true, Message: op.Message{ID: "m-" + text, MediaTypes: []string{""}, Body: []byte(body)},
	})
	if err != nil {
		w.t.Fatal(err)
	}
	tasks[text] = a.Head.ID
	for _, it := range w.open() {
		switch r.IntN(3) {
		case 0:
			_, err = w.in.Approve(w.t.Context(), it.ID, "me", "")
		case 1:
			_, err = w.in.Refuse(w.t.Context(), it.ID, "me", "")
		}
		if err != nil {
			w.t.Fatal(err)
		}
	}
}

// sound checks the final state of a task against its item and the runs of the agent.
func (w *fixture) sound(seed uint64, text string, id a2a.TaskID) {
	w.t.Helper()
	a, err := w.hub.Get(w.t.Context(), bob, &op.Get{ID: id})
	if err != nil {
		w.t.Fatal(err)
	}
	runs := 0
	w.mu.Lock()
	for _, run := range w.runs {
		if run == text {
			runs++
		}
	}
	w.mu.Unlock()
	it, err := w.in.Get(w.t.Context(), inbox.IDOf("bob", id, 1))
	if err != nil {
		w.t.Errorf("seed %d, %s: %v, %v", seed, text, err, a.Head.State)
		return
	}
	ok := false
	switch it.State {
	case inbox.Open:
		ok = a.Head.State == task.AuthRequired && runs == 0
	case inbox.Refused:
		ok = a.Head.State == task.Rejected && runs == 0
	case inbox.Approved:
		ok = a.Head.State == task.Completed && runs == 1 || a.Head.State == task.Failed && runs <= 1
	}
	if !ok {
		w.t.Errorf("seed %d: %s is %s, its task is %v after %d runs: %s", seed, text, it.State, a.Head.State, runs, a.Head.StatusMessage)
	}
}
