package engine_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2asrv"
	"github.com/google/go-cmp/cmp"

	"github.com/parley-a2a/parley/auth"
	"github.com/parley-a2a/parley/internal/engine"
	"github.com/parley-a2a/parley/internal/engine/enginetest"
	"github.com/parley-a2a/parley/internal/limits"
	"github.com/parley-a2a/parley/internal/op"
	"github.com/parley-a2a/parley/internal/store/memstore"
	"github.com/parley-a2a/parley/internal/task"
)

// blockingStore is a store in memory whose commits may be held back.
type blockingStore struct {
	memstore.Store

	mu      sync.Mutex
	gate    chan struct{} // closed to commit; nil if commits are not held back
	waiting int
}

func (s *blockingStore) Append(ctx context.Context, c *task.Change) error {
	s.mu.Lock()
	gate := s.gate
	if gate != nil {
		s.waiting++
	}
	s.mu.Unlock()
	if gate != nil {
		<-gate
	}
	return s.Store.Append(ctx, c)
}

// block holds back all commits until release.
func (s *blockingStore) block() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.gate, s.waiting = make(chan struct{}), 0
}

// release lets all commits proceed, and returns the number of those that waited.
func (s *blockingStore) release() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.gate != nil {
		close(s.gate)
		s.gate = nil
	}
	return s.waiting
}

// held returns the number of commits that were held back since block.
func (s *blockingStore) held() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.waiting
}

// audience observes an engine on all paths by which a change becomes visible.
type audience struct {
	*bench
	store  *blockingStore
	pusher enginetest.Pusher
	// steps are the events that the agent yields next.
	steps chan func(*a2asrv.ExecutorContext) a2a.Event
	key   task.Key
	id    a2a.TaskID
	// ctx is that of the callers and readers, callers counts their goroutines.
	ctx     context.Context
	end     context.CancelFunc
	callers sync.WaitGroup

	mu   sync.Mutex
	seen map[string]int // number of notifications, by path
}

func (a *audience) count(path string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.seen[path]++
}

// RecordRequest implements engine.Recorder.
func (a *audience) RecordRequest(*op.Caller, *op.Send, task.Agent) []byte { return []byte("record") }

// changed counts the changes for the recorder and the output.
func (a *audience) changed(c engine.Change) {
	if c.Output != nil {
		a.count("observer of output")
		return
	}
	a.count("recorder")
}

// startAudience starts an engine whose agent yields the events of steps.
func startAudience(t *testing.T, store *blockingStore) *audience {
	t.Helper()
	a := &audience{store: store, steps: make(chan func(*a2asrv.ExecutorContext) a2a.Event), seen: make(map[string]int)}
	a.ctx, a.end = context.WithCancel(context.Background())
	a.bench = start(t, engine.Config{
		Store: store, Push: &a.pusher, Recorder: a, Limits: limits.Limits{DrainTimeout: -1},
		Observer: engine.Observers{&a.pusher, engine.ObserverFuncs{
			OnAdmitted: func(*auth.Principal) { a.count("observer of messages") },
			OnChanged:  a.changed,
			OnEnded:    func(*engine.Outcome) { a.count("observer of ends") },
		}},
		Interest: engine.Interest{Ends: true, Output: []string{"local"}},
	}, &executor{run: a.execute, cancel: a.cancelAgent})
	t.Cleanup(a.finish)
	return a
}

// finish ends the callers and the engine.
func (a *audience) finish() {
	a.store.release()
	a.end()
	a.callers.Wait()
	a.stop()
	if problems := a.pusher.Problems(); len(problems) > 0 {
		a.t.Errorf("the pusher got wrong changes:\n%s", strings.Join(problems, "\n"))
	}
}

func (a *audience) execute(ctx context.Context, ec *a2asrv.ExecutorContext, yield func(a2a.Event, error) bool) {
	a.count("agent")
	for {
		select {
		case step := <-a.steps:
			if !yield(step(ec), nil) {
				return
			}
		case <-ctx.Done():
			return
		}
	}
}

func (a *audience) cancelAgent(_ context.Context, ec *a2asrv.ExecutorContext, yield func(a2a.Event, error) bool) {
	a.count("agent that is canceled")
	yield(status(ec, a2a.TaskStateCanceled, "news"), nil)
}

// begin sends the first message, whose caller waits for the answer, and follows the task. It runs
// in a bubble.
func (a *audience) begin(t *testing.T) {
	t.Helper()
	a.start("caller of the first message", func() error {
		r := text("first")
		r.Task = true
		_, err := a.Send(a.ctx, alice, r)
		return err
	})
	a.steps <- func(ec *a2asrv.ExecutorContext) a2a.Event { return status(ec, a2a.TaskStateWorking, "begun") }
	afterASecond()
	page, err := a.List(t.Context(), alice, &op.List{PageSize: 10})
	if err != nil || len(page.Tasks) != 1 {
		t.Fatalf("List = %+v, %v", page, err)
	}
	a.key, a.id = page.Tasks[0].Head.Key, page.Tasks[0].Head.ID
	a.push(config(a.id, "hook"))
	a.follow("stream", "")
	afterASecond()
}

// start calls f in a goroutine, and notes when it returns.
func (a *audience) start(path string, f func() error) {
	a.callers.Go(func() {
		if err := f(); err == nil {
			a.count(path)
		} else if a.ctx.Err() == nil {
			a.t.Errorf("%s: %v", path, err)
		}
	})
}

// follow counts the events of a stream, until the task ends.
func (a *audience) follow(path, after string) {
	s, err := a.Subscribe(a.ctx, alice, &op.Subscribe{ID: a.id, LastEventID: after})
	if err != nil {
		a.t.Errorf("%s: %v", path, err)
		return
	}
	a.callers.Go(func() {
		defer s.Close()
		for {
			events, err := s.Next(a.ctx, 0)
			for range events {
				a.count(path)
			}
			if err != nil {
				if !errors.Is(err, io.EOF) && a.ctx.Err() == nil {
					a.t.Errorf("%s: %v", path, err)
				}
				return
			}
		}
	})
}

// afterASecond waits until the engine has nothing more to do: longer than a run collects events.
func afterASecond() {
	time.Sleep(time.Second)
	synctest.Wait()
}

// look returns the state of the task on all paths. The number n makes the paths of a new reader
// unique.
func (a *audience) look(t *testing.T, n int) map[string]int {
	t.Helper()
	late := fmt.Sprint("late ", n)
	a.follow(late, "1")
	synctest.Wait()
	got, err := a.Get(t.Context(), alice, &op.Get{ID: a.id})
	if err != nil { // such as for a head ahead of the log
		t.Errorf("Get: %v", err)
		got = &engine.Answer{Answer: op.Answer{Fold: new(task.Fold)}}
	}
	page, err := a.List(t.Context(), alice, &op.List{PageSize: 10, IncludeArtifacts: true})
	if err != nil || len(page.Tasks) != 1 {
		t.Fatalf("List = %+v, %v", page, err)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	view := maps.Clone(a.seen)
	view["new stream"] = view[late]
	maps.DeleteFunc(view, func(path string, _ int) bool { return strings.HasPrefix(path, "late ") })
	view["get"], view["list"] = int(got.Fold.Version), int(page.Tasks[0].Head.Version)
	view["head of get"], view["pusher"] = int(got.Head.Version), int(a.pusher.Head(a.key).Version)
	view["webhook"] = int(a.pusher.Known(a.key)[0].Reached)
	return view
}

// changed returns the paths on which two views differ.
func changed(before, after map[string]int) (paths []string) {
	for path, n := range after {
		if before[path] != n {
			paths = append(paths, path)
		}
	}
	slices.Sort(paths)
	return paths
}

// TestNothingIsShownBeforeItIsStored: while the store commits a change, no reader, stream, answer,
// webhook or observer shows it; after the commit all do. Otherwise a crash could take back
// something that a caller has already acted upon.
func TestNothingIsShownBeforeItIsStored(t *testing.T) {
	t.Parallel()
	readers := []string{"get", "head of get", "list", "new stream", "pusher", "recorder", "stream", "webhook"}
	yields := func(event func(*a2asrv.ExecutorContext) a2a.Event) func(*audience) {
		return func(a *audience) { a.steps <- event }
	}
	for name, tt := range map[string]struct {
		change func(a *audience)
		shown  []string // paths besides readers
	}{
		"artifact": {
			change: yields(func(ec *a2asrv.ExecutorContext) a2a.Event { return chunk(ec, "news", true) }),
			shown:  []string{"observer of output"},
		},
		"status": {
			change: yields(func(ec *a2asrv.ExecutorContext) a2a.Event { return status(ec, a2a.TaskStateWorking, "news") }),
			shown:  []string{"observer of output"},
		},
		"question": {
			change: yields(func(ec *a2asrv.ExecutorContext) a2a.Event { return status(ec, a2a.TaskStateInputRequired, "news") }),
			shown:  []string{"observer of output", "caller of the first message"},
		},
		"end": {
			change: yields(func(ec *a2asrv.ExecutorContext) a2a.Event { return status(ec, a2a.TaskStateCompleted, "news") }),
			shown:  []string{"observer of output", "observer of ends", "caller of the first message"},
		},
		"message": {
			change: func(a *audience) {
				a.start("caller of the message", func() error {
					_, err := a.Send(a.ctx, alice, now(reply(a.id, "news")))
					return err
				})
			},
			shown: []string{"observer of messages", "caller of the message"},
		},
		"cancel": {
			change: func(a *audience) {
				a.start("caller of the cancel", func() error {
					_, err := a.Cancel(a.ctx, alice, &op.Cancel{ID: a.id})
					return err
				})
			},
			shown: []string{"agent that is canceled", "observer of ends", "caller of the first message", "caller of the cancel"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				store := new(blockingStore)
				a := startAudience(t, store)
				a.begin(t)
				before := a.look(t, 1)
				store.block()
				tt.change(a)
				afterASecond()
				if early := changed(before, a.look(t, 2)); len(early) > 0 {
					t.Errorf("before the change is stored it is shown by: %s", strings.Join(early, ", "))
				}
				if n := store.release(); n != 1 {
					t.Errorf("%d changes wait for the store, want 1", n)
				}
				afterASecond()
				want := slices.Sorted(slices.Values(slices.Concat(readers, tt.shown)))
				if diff := cmp.Diff(want, changed(before, a.look(t, 3))); diff != "" {
					t.Errorf("after the change is stored it is shown by (-want +got):\n%s", diff)
				}
			})
		})
	}
}

// TestNoTaskIsShownBeforeItIsStored is TestNothingIsShownBeforeItIsStored for the creation of a
// task: its agent does not begin, and its caller gets no answer and cannot find it.
func TestNoTaskIsShownBeforeItIsStored(t *testing.T) {
	t.Parallel()
	for name, wait := range map[string]bool{"the caller waits": true, "the caller does not wait": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				store := new(blockingStore)
				a := startAudience(t, store)
				store.block()
				r := text("first")
				r.Task, r.ReturnImmediately = true, !wait
				r.NewIDs, r.Message.TaskID = true, "t"
				r.Push = &op.PushConfig{ID: "hook", URL: hookURL}
				a.start("caller", func() error {
					_, err := a.Send(a.ctx, alice, r)
					return err
				})
				a.start("stream", func() error {
					other := text("second")
					other.Task = true
					s, err := a.Stream(a.ctx, alice, other)
					if err == nil {
						s.Close()
					}
					return err
				})
				afterASecond()
				page, err := a.List(t.Context(), alice, &op.List{PageSize: 10})
				if err != nil || len(page.Tasks) != 0 {
					t.Errorf("before the tasks are stored they are listed: %+v, %v", page, err)
				}
				// The reader may find no task, or wait for the mutex of the task: time does not advance
				// in the bubble until the store is released.
				a.start("reader", func() error {
					if _, err := a.Get(a.ctx, alice, &op.Get{ID: "t"}); !errors.Is(err, a2a.ErrTaskNotFound) {
						a.count("get")
						return err
					}
					return nil
				})
				for range 1000 {
					runtime.Gosched()
				}
				a.mu.Lock()
				early := maps.Clone(a.seen)
				a.mu.Unlock()
				delete(early, "reader")
				if len(early) > 0 {
					t.Errorf("before the tasks are stored they are shown by: %v", early)
				}
				if n := store.release(); n != 2 {
					t.Errorf("%d changes wait for the store, want 2", n)
				}
				afterASecond()
				a.mu.Lock()
				late := maps.Clone(a.seen)
				a.mu.Unlock()
				if late["agent"] != 2 || late["observer of messages"] != 2 || late["stream"] != 1 || (late["caller"] == 0) != wait {
					t.Errorf("after the tasks are stored they are shown by: %v", late)
				}
				if h := a.get("t").Head; len(a.pusher.Known(h.Key)) != 1 {
					t.Error("the pusher does not know the webhook of the message")
				}
			})
		})
	}
}
