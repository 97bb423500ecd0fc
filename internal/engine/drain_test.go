package engine_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2asrv"

	"github.com/parley-a2a/parley/agent"
	"github.com/parley-a2a/parley/internal/engine"
	"github.com/parley-a2a/parley/task"
)

// patient waits until the hub drains, and completes when it is executed again.
func patient(traits agent.Traits) a2asrv.AgentExecutor {
	return agent.With(&executor{run: func(ctx context.Context, ec *a2asrv.ExecutorContext, yield func(a2a.Event, error) bool) {
		if agent.CallFrom(ctx).Attempt > 1 {
			yield(status(ec, a2a.TaskStateCompleted, "again"), nil)
			return
		}
		if !yield(status(ec, a2a.TaskStateAuthRequired, "waiting"), nil) {
			return
		}
		until, cancel := agent.UntilDrain(ctx)
		defer cancel()
		<-until.Done()
		if cause := context.Cause(until); !errors.Is(cause, engine.ErrDraining) || ctx.Err() != nil {
			yield(status(ec, a2a.TaskStateFailed, "it ended with "+cause.Error()), nil)
		}
	}}, traits)
}

// TestUntilDrain: a run that waits for somebody ends when the engine drains, and goes on
// in the next process if it can.
func TestUntilDrain(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		traits agent.Traits
		want   task.State
	}{
		"resumable": {agent.Traits{Resumable: true}, task.Completed},
		// It has ended, and says that it waits for its caller.
		"not resumable": {agent.Traits{}, task.AuthRequired},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				store := new(task.Memory)
				b := start(t, engine.Config{Store: store, DrainTimeout: time.Hour}, patient(tt.traits))
				id := b.send(now(text("hi"))).Head.ID
				synctest.Wait()
				began := time.Now()
				b.stop()
				if took := time.Since(began); took != 0 {
					t.Errorf("the drain took %v", took)
				}
				b = start(t, engine.Config{Store: store}, patient(tt.traits))
				synctest.Wait()
				if a := b.get(id); a.Head.State != tt.want {
					t.Errorf("in the next process the task is %v %q, want %v", a.Head.State, statusText(t, a), tt.want)
				}
				b.stop()
			})
		})
	}
}

// TestQuestionsDoNotHoldUpADrain: who answers may take days.
func TestQuestionsDoNotHoldUpADrain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store, d := new(task.Memory), newDesk()
		b := start(t, engine.Config{Store: store, Questions: d, DrainTimeout: time.Hour}, curious())
		id := b.send(now(text("hi"))).Head.ID
		<-d.posed
		began := time.Now()
		b.stop()
		if took := time.Since(began); took != 0 {
			t.Errorf("the drain took %v", took)
		}
		b = start(t, engine.Config{Store: store, Questions: d}, curious())
		if q := <-d.posed; q.Task != id {
			t.Errorf("the question of task %s is asked again, want that of %s", q.Task, id)
		}
		b.stop()
	})
}

// TestQuestionsThatComeWhileDraining are for the next process, which can ask others.
func TestQuestionsThatComeWhileDraining(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store, d := new(task.Memory), newDesk()
		d.err = errors.New("nobody can be asked while the hub drains")
		slow := curious()
		inner := slow.run
		slow.run = func(ctx context.Context, ec *a2asrv.ExecutorContext, yield func(a2a.Event, error) bool) {
			if ec.StoredTask == nil {
				time.Sleep(time.Minute)
			}
			inner(ctx, ec, yield)
		}
		b := start(t, engine.Config{Store: store, Questions: d, DrainTimeout: time.Hour}, slow)
		id := b.send(now(text("hi"))).Head.ID
		synctest.Wait()
		b.stop()
		if len(d.posed) != 0 {
			t.Error("the question is asked while the engine drains")
		}
		d.err = nil
		b = start(t, engine.Config{Store: store, Questions: d}, slow)
		if q := <-d.posed; q.Task != id || q.Text != "what?" {
			t.Errorf("the question is %+v", q)
		}
		b.stop()
	})
}
