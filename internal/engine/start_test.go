package engine_test

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2asrv"
	"github.com/google/go-cmp/cmp"

	"github.com/parley-a2a/parley/agent"
	"github.com/parley-a2a/parley/internal/engine"
	"github.com/parley-a2a/parley/internal/op"
	"github.com/parley-a2a/parley/internal/task"
)

// pure returns an agent without effects that executes run.
func pure(run func(ctx context.Context, ec *a2asrv.ExecutorContext, yield func(a2a.Event, error) bool)) a2asrv.AgentExecutor {
	return agent.With(&executor{run: run}, agent.Traits{Pure: true, NoMessage: true})
}

// TestAnswerAtOnce compares the task that is stored with its answer to one that is stored first.
func TestAnswerAtOnce(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		run     func(ctx context.Context, ec *a2asrv.ExecutorContext, yield func(a2a.Event, error) bool)
		change  func(r *op.Send)
		appends int64
		want    task.State
	}{
		"complete": {
			run: func(_ context.Context, ec *a2asrv.ExecutorContext, yield func(a2a.Event, error) bool) {
				_ = yield(status(ec, a2a.TaskStateWorking, ""), nil) && yield(chunk(ec, "hello", false), nil) &&
					yield(status(ec, a2a.TaskStateCompleted, "done"), nil)
			},
			appends: 1, want: task.Completed,
		},
		"an error": {
			run: func(_ context.Context, _ *a2asrv.ExecutorContext, yield func(a2a.Event, error) bool) {
				yield(nil, a2a.NewError(errors.New("no"), "the agent is tired"))
			},
			appends: 1, want: task.Failed,
		},
		"a panic": {
			run: func(_ context.Context, ec *a2asrv.ExecutorContext, yield func(a2a.Event, error) bool) {
				yield(status(ec, a2a.TaskStateWorking, ""), nil)
				panic("ouch")
			},
			appends: 1, want: task.Failed,
		},
		"no end": {
			run:     func(context.Context, *a2asrv.ExecutorContext, func(a2a.Event, error) bool) {},
			appends: 2, want: task.Failed,
		},
		"a question": {
			run: func(_ context.Context, ec *a2asrv.ExecutorContext, yield func(a2a.Event, error) bool) {
				yield(status(ec, a2a.TaskStateInputRequired, "which?"), nil)
			},
			appends: 2, want: task.InputRequired,
		},
		"an event that the protocol forbids": {
			run: func(_ context.Context, ec *a2asrv.ExecutorContext, yield func(a2a.Event, error) bool) {
				_ = yield(chunk(ec, "a", false), nil) && yield(chunk(ec, "b", false), nil) &&
					yield(status(ec, a2a.TaskStateCompleted, ""), nil)
			},
			appends: 2, want: task.Failed,
		},
		"a slow agent": {
			run: func(_ context.Context, ec *a2asrv.ExecutorContext, yield func(a2a.Event, error) bool) {
				<-time.After(time.Second)
				yield(status(ec, a2a.TaskStateCompleted, ""), nil)
			},
			appends: 2, want: task.Completed,
		},
		"an agent that pauses": {
			run: func(_ context.Context, ec *a2asrv.ExecutorContext, yield func(a2a.Event, error) bool) {
				yield(status(ec, a2a.TaskStateWorking, ""), nil)
				<-time.After(time.Second)
				yield(status(ec, a2a.TaskStateCompleted, ""), nil)
			},
			appends: 3, want: task.Completed,
		},
		"an agent that goes on after its answer": {
			run: func(_ context.Context, ec *a2asrv.ExecutorContext, yield func(a2a.Event, error) bool) {
				yield(status(ec, a2a.TaskStateCompleted, ""), nil)
				<-time.After(time.Second)
			},
			appends: 1, want: task.Completed,
		},
		"a large message": {
			run: func(_ context.Context, ec *a2asrv.ExecutorContext, yield func(a2a.Event, error) bool) {
				yield(status(ec, a2a.TaskStateCompleted, ""), nil)
			},
			change:  func(r *op.Send) { *r = *text(strings.Repeat("a", 1<<20)) },
			appends: 1, want: task.Completed,
		},
		"an id of the caller": {
			run: func(_ context.Context, ec *a2asrv.ExecutorContext, yield func(a2a.Event, error) bool) {
				yield(status(ec, a2a.TaskStateCompleted, ""), nil)
			},
			change:  func(r *op.Send) { r.Message.TaskID, r.NewIDs = "mine", true },
			appends: 2, want: task.Completed,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				answers := make(map[bool]*a2a.Task)
				for _, atOnce := range []bool{false, true} {
					x := pure(tt.run)
					if !atOnce {
						x = agent.With(x, agent.Traits{AfterCrash: agent.Repeat, NoMessage: true})
					}
					store := new(counting)
					b := start(t, engine.Config{Store: store}, x)
					r := text("hello")
					if tt.change != nil {
						tt.change(r)
					}
					a := b.send(r)
					if a.Head.State != tt.want {
						t.Errorf("state = %v, want %v", a.Head.State, tt.want)
					}
					answers[atOnce] = sdkTask(t, a)
					if n := store.appends.Load(); atOnce && n != tt.appends {
						t.Errorf("%d appends, want %d", n, tt.appends)
					}
					if d := cmp.Diff(sdkTask(t, a), sdkTask(t, b.get(a.Head.ID))); d != "" {
						t.Errorf("the stored task differs from the answer (-answer +stored):\n%s", d)
					}
					b.stopsEmpty()
				}
				if d := cmp.Diff(plain(answers[false]), plain(answers[true])); d != "" {
					t.Errorf("the answers differ (-stored first +at once):\n%s", d)
				}
			})
		})
	}
}

// plain returns a task as text without ids, times and references.
func plain(a *a2a.Task) string {
	var b strings.Builder
	b.WriteString(string(a.Status.State))
	for _, m := range a.History {
		b.WriteString("\nmessage " + m.Parts[0].Text())
	}
	for _, x := range a.Artifacts {
		b.WriteString("\nartifact " + x.Parts[0].Text())
	}
	return b.String()
}

// TestAnswerAtOnceIsShownOnceStored holds back the commit of a task with its answer.
func TestAnswerAtOnceIsShownOnceStored(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var shown, ran atomic.Int64
		store := new(blockingStore)
		cfg := engine.Config{Store: store, Observer: engine.ObserverFuncs{
			OnChanged: func(engine.Change) { shown.Add(1) },
			OnEnded:   func(*engine.Outcome) { shown.Add(1) },
		}, Interest: engine.Interest{Ends: true}}
		b := start(t, cfg, pure(func(_ context.Context, ec *a2asrv.ExecutorContext, yield func(a2a.Event, error) bool) {
			ran.Add(1)
			yield(status(ec, a2a.TaskStateCompleted, ""), nil)
		}))
		store.block()
		go func() {
			b.send(text("hello"))
			shown.Add(1)
		}()
		for store.held() == 0 || ran.Load() == 0 {
			runtime.Gosched()
		}
		for range 1000 {
			runtime.Gosched()
		}
		page, err := b.List(t.Context(), alice, &op.List{PageSize: 10})
		if err != nil || len(page.Tasks) != 0 || shown.Load() != 0 {
			t.Errorf("before the task is stored: %+v, %v, shown %d times", page, err, shown.Load())
		}
		if n := store.release(); n != 1 {
			t.Errorf("%d changes wait for the store, want 1", n)
		}
		synctest.Wait()
		if n := shown.Load(); n != 3 {
			t.Errorf("after the task is stored it is shown %d times, want to the caller and twice to the observer", n)
		}
	})
}

// TestAnswerAtOnceIsNotStored lets the commit of a task with its answer fail.
func TestAnswerAtOnceIsNotStored(t *testing.T) {
	t.Parallel()
	for name, kept := range map[string]bool{"lost": false, "kept": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				store := &failingStore{keep: kept}
				x := words("hello")
				b := start(t, engine.Config{Store: store}, pure(x.run))
				store.arm(creates)
				if _, err := b.Send(t.Context(), caller("alice"), text("a")); !errors.Is(err, task.ErrUnavailable) {
					t.Errorf("Send = %v, want %v", err, task.ErrUnavailable)
				}
				time.Sleep(time.Minute) // the engine compares its task with the store
				synctest.Wait()
				page, err := b.List(t.Context(), caller("alice"), &op.List{PageSize: 10})
				if err != nil || len(page.Tasks) != map[bool]int{false: 0, true: 1}[kept] {
					t.Fatalf("List = %+v, %v", page, err)
				}
				if kept && page.Tasks[0].Head.State != task.Completed {
					t.Errorf("the stored task is %v, want COMPLETED", page.Tasks[0].Head.State)
				}
				if got := b.send(text("b")).Head.State; got != task.Completed {
					t.Errorf("the next task is %v, want COMPLETED", got)
				}
				b.stopsEmpty()
			})
		})
	}
}

// TestFlushOfAnEarlyRun calls Flush before the task is stored.
func TestFlushOfAnEarlyRun(t *testing.T) {
	t.Parallel()
	store := new(counting)
	var durable []int64
	b := start(t, engine.Config{Store: store}, pure(func(ctx context.Context, ec *a2asrv.ExecutorContext, yield func(a2a.Event, error) bool) {
		for _, s := range []a2a.TaskState{a2a.TaskStateWorking, a2a.TaskStateCompleted} {
			if err := agent.CallFrom(ctx).Flush(ctx); err != nil {
				t.Error(err)
			}
			durable = append(durable, store.appends.Load())
			if !yield(status(ec, s, ""), nil) {
				return
			}
		}
	}))
	b.send(text("hello"))
	if d := cmp.Diff([]int64{1, 2}, durable); d != "" {
		t.Errorf("appends after each Flush (-want +got):\n%s", d)
	}
}

// TestEventsAheadOfTheMessage holds back the commit of a task whose run has begun. Its events wait for that
// commit without one of their own, and are stored after it although the agent yields no more.
func TestEventsAheadOfTheMessage(t *testing.T) {
	t.Parallel()
	for name, traits := range map[string]agent.Traits{
		"a pure agent":                  {Pure: true, NoMessage: true},
		"an agent that works elsewhere": {Away: true, NoMessage: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				store, proceed := new(blockingStore), make(chan struct{})
				b := start(t, engine.Config{Store: store}, agent.With(&executor{run: func(_ context.Context, ec *a2asrv.ExecutorContext, yield func(a2a.Event, error) bool) {
					_ = yield(status(ec, a2a.TaskStateWorking, ""), nil) && yield(chunk(ec, "hello", false), nil)
					<-proceed
					yield(status(ec, a2a.TaskStateCompleted, "done"), nil)
				}}, traits))
				store.block()
				sent := make(chan *engine.Answer, 1)
				go func() { sent <- b.send(text("hello")) }()
				time.Sleep(time.Second) // longer than events wait for others
				synctest.Wait()
				if n := store.held(); n != 1 {
					t.Errorf("%d changes wait for the store, want that of the message", n)
				}
				store.release()
				synctest.Wait()
				page, err := b.List(t.Context(), caller("alice"), &op.List{PageSize: 10})
				if err != nil || len(page.Tasks) != 1 {
					t.Fatalf("List = %+v, %v", page, err)
				}
				if got := sdkTask(t, b.get(page.Tasks[0].Head.ID)); got.Status.State != a2a.TaskStateWorking || len(got.Artifacts) != 1 {
					t.Errorf("after the message is stored the task is %v with %d artifacts, want the events before it", got.Status.State, len(got.Artifacts))
				}
				close(proceed)
				if a := <-sent; a.Head.State != task.Completed {
					t.Errorf("the task is %v", a.Head.State)
				}
			})
		})
	}
}
