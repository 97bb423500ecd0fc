package webhooks

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/google/go-cmp/cmp"

	"github.com/parley-a2a/parley/internal/engine/enginetest"
	"github.com/parley-a2a/parley/internal/store/memstore"
	"github.com/parley-a2a/parley/internal/task"
	"github.com/parley-a2a/parley/internal/testing/suite/tasktest"
)

var _ enginetest.Dispatcher = (*Dispatcher)(nil)

func TestEveryTransitionIsSent(t *testing.T) {
	bubble(t, func(w *world) {
		w.start()
		j := w.task("t1")
		ref := j.hook(task.HookRequest{ID: "c1", URL: hookURL})
		j.work()
		j.chunk("a", "b")
		j.add(tasktest.FollowUp(w.now(), "more"))
		j.complete()
		w.pass(time.Second)
		want(t, "sent", w.net.texts(hookURL), "TASK_STATE_WORKING a b TASK_STATE_COMPLETED")
		if h := w.stored(ref); h.Position != j.head.Version || !h.Settled {
			t.Errorf("stored hook is at %d, settled %v, want %d and settled", h.Position, h.Settled, j.head.Version)
		}
		if _, known := w.d.Status(ref); known || w.d.known.n.Load() != 0 || len(w.d.queues) != 0 {
			t.Errorf("after the end: hook known %v, %d hooks, %d lanes, want none", known, w.d.known.n.Load(), len(w.d.queues))
		}
	})
}

func TestWhatIsSent(t *testing.T) {
	bubble(t, func(w *world) {
		w.start()
		j := w.task("t1")
		j.hook(task.HookRequest{ID: "c1", URL: hookURL, Token: "to ken", Scheme: "Bearer", Credentials: "abc=="})
		j.add(tasktest.Status(w.now(), task.Working, "on it"))
		w.pass(time.Second)
		posts := w.net.got(hookURL)
		if len(posts) != 1 {
			t.Fatalf("%d posts, want 1", len(posts))
		}
		p := posts[0]
		header := http.Header{
			"Content-Type":             {"application/a2a+json"},
			"User-Agent":               {"parley/1"},
			"A2a-Version":              {"1.0"},
			"Authorization":            {"Bearer abc=="},
			"A2a-Notification-Token":   {"to ken"},
			"X-A2a-Notification-Token": {"to ken"},
			"Webhook-Id":               {notificationID(&j.head, "c1", 2)},
			"Webhook-Timestamp":        {fmt.Sprint(p.at.Unix())},
		}
		if diff := cmp.Diff(header, p.header); diff != "" {
			t.Errorf("header mismatch (-want +got):\n%s", diff)
		}
		want(t, "body", p.body, `{"statusUpdate":{"taskId":"t1","contextId":"c","status":{"state":"TASK_STATE_WORKING",`+
			`"message":{"messageId":"on it","parts":[{"text":"on it"}]},"timestamp":"2000-01-01T00:00:00.000Z"}}}`)
	})
}

func TestNothingIsSentOfEmptySecrets(t *testing.T) {
	bubble(t, func(w *world) {
		w.start()
		j := w.task("t1")
		j.hook(task.HookRequest{URL: hookURL, Scheme: "Bearer"})
		j.work()
		w.pass(time.Second)
		for name := range w.net.got(hookURL)[0].header {
			if strings.Contains(name, "Token") || name == "Authorization" {
				t.Errorf("header %s was sent", name)
			}
		}
	})
}

func TestNotificationIDs(t *testing.T) {
	t.Parallel()
	seen := make(map[string]string)
	for _, owner := range []task.Owner{"a", "ab"} {
		for _, id := range []string{"b", "bc", "c\n", "1"} {
			for version := range int64(3) {
				head := &task.Head{Owner: owner, ID: "b"}
				got := notificationID(head, id, version)
				what := fmt.Sprint(owner, id, version)
				if seen[got] != "" {
					t.Errorf("%q and %q have the same id", seen[got], what)
				}
				seen[got] = what
				if !headerSafe(got) || strings.Contains(got, ".") || got != notificationID(head, id, version) {
					t.Errorf("id %q of %q is not safe and stable", got, what)
				}
			}
		}
	}
}

func TestOneAtATimeInOrder(t *testing.T) {
	bubble(t, func(w *world) {
		w.net.answer = w.net.slow(300 * time.Millisecond)
		w.start()
		j := w.task("t1")
		j.hook(task.HookRequest{ID: "one", URL: hookURL})
		j.hook(task.HookRequest{ID: "two", URL: hookURL + "2"})
		texts := numbers(600) // more than a page
		j.chunk(texts...)
		j.complete()
		w.pass(10 * time.Minute)
		for _, url := range []string{hookURL, hookURL + "2"} {
			want(t, "sent", w.net.texts(url), strings.Join(texts, " ")+" TASK_STATE_COMPLETED")
			if w.net.most[url] != 1 {
				t.Errorf("%d requests at one time at %s, want 1", w.net.most[url], url)
			}
		}
	})
}

// quiet creates a task that its caller does not know of.
func (w *world) quiet(id a2a.TaskID) *job {
	w.t.Helper()
	head := tasktest.NewHead("ann", id)
	head.Visibility = task.Hidden
	return &job{w, tasktest.Append(w.t, w.store, head, tasktest.Created(w.now(), "hello"))}
}

func TestHiddenTasksAreNotSent(t *testing.T) {
	bubble(t, func(w *world) {
		w.start()
		j := w.quiet("q")
		j.hook(task.HookRequest{ID: "c", URL: hookURL})
		j.work()
		w.pass(time.Minute)
		want(t, "sent for a quiet task", w.net.texts(hookURL), "")
		j.head = tasktest.Alter(t, w.store, j.head, func(h *task.Head) { h.Visibility = task.Visible })
		w.d.Moved(&j.head)
		w.pass(time.Minute)
		want(t, "sent once it is shown", w.net.texts(hookURL), "TASK_STATE_WORKING")
	})
}

func TestAnsweredTasksAreForgotten(t *testing.T) {
	bubble(t, func(w *world) {
		w.start()
		j := w.quiet("q")
		ref := j.hook(task.HookRequest{ID: "c", URL: hookURL})
		j.work()
		synctest.Wait()
		j.head = tasktest.Alter(t, w.store, j.head, func(h *task.Head) { h.Visibility = task.Replied })
		w.d.Moved(&j.head)
		w.pass(time.Minute)
		want(t, "sent", w.net.texts(hookURL), "")
		if h := w.stored(ref); !h.Settled || w.d.known.n.Load() != 0 {
			t.Errorf("hook of an answered task: settled %v, %d known, want it settled and unknown", h.Settled, w.d.known.n.Load())
		}
	})
}

func TestHooksOfAnEndedTaskAreSettled(t *testing.T) {
	bubble(t, func(w *world) {
		w.start()
		j := w.task("t1")
		j.complete()
		ref := j.hook(task.HookRequest{ID: "c", URL: hookURL})
		w.pass(time.Minute)
		want(t, "sent", w.net.texts(hookURL), "")
		if _, known := w.d.Status(ref); known {
			t.Error("the hook is known though there is nothing to send")
		}
	})
}

// The engine may call Moved for a change before it calls Changed for the hook.
func TestAMoveThatCameTooEarly(t *testing.T) {
	bubble(t, func(w *world) {
		w.start()
		j := w.task("t1")
		h, head := j.put(task.HookRequest{ID: "c", URL: hookURL}), j.head
		j.work()
		w.d.Changed(h.Ref(), h, &head)
		w.pass(time.Minute)
		want(t, "sent", w.net.texts(hookURL), "TASK_STATE_WORKING")
	})
}

func TestDeletedHooksGetNothing(t *testing.T) {
	bubble(t, func(w *world) {
		hang := make(chan error, 1)
		w.net.answer = func(r *http.Request, _ *post) (int, error) {
			<-r.Context().Done()
			hang <- context.Cause(r.Context())
			return 0, r.Context().Err()
		}
		w.start()
		j := w.task("t1")
		ref := j.hook(task.HookRequest{ID: "c", URL: hookURL})
		j.work()
		synctest.Wait()
		if err := w.store.DropHook(t.Context(), ref); err != nil {
			t.Fatal(err)
		}
		w.d.Changed(ref, nil, nil)
		synctest.Wait()
		if err := <-hang; err != errForgotten {
			t.Errorf("the request under way ended with %v, want errForgotten", err)
		}
		j.complete()
		w.pass(time.Hour)
		if got := w.net.got(hookURL); len(got) != 1 || w.d.known.n.Load() != 0 || len(w.d.queues) != 0 || w.d.busy != 0 {
			t.Errorf("%d requests, %d hooks, %d lanes, %d busy, want 1, 0, 0, 0", len(got), w.d.known.n.Load(), len(w.d.queues), w.d.busy)
		}
	})
}

func TestReplacedHooksGoElsewhere(t *testing.T) {
	bubble(t, func(w *world) {
		w.net.answer = always(500, nil)
		w.start()
		j := w.task("t1")
		j.hook(task.HookRequest{ID: "c", URL: hookURL})
		j.work()
		w.pass(time.Second)
		w.net.got(hookURL)
		j.hook(task.HookRequest{ID: "c", URL: "https://other.example/"})
		j.chunk("a")
		w.pass(time.Hour)
		if got := w.net.texts(hookURL); got != "" {
			t.Errorf("the old URL got %q", got)
		}
		if got := w.net.texts("https://other.example/"); !strings.HasPrefix(got, "a a") {
			t.Errorf("the new URL got %q, want the chunk again and again", got)
		}
	})
}

func TestHooksOfASweptTaskAreForgotten(t *testing.T) {
	bubble(t, func(w *world) {
		w.net.answer = always(500, nil)
		w.start()
		j := w.task("t1")
		j.hook(task.HookRequest{ID: "c", URL: hookURL})
		j.complete()
		w.pass(time.Minute)
		if n, err := w.store.Sweep(t.Context(), w.now()+1, 10); n != 1 || err != nil {
			t.Fatalf("Sweep = %d, %v", n, err)
		}
		w.pass(10 * time.Minute)
		if w.d.known.n.Load() != 0 {
			t.Error("the hook is still known")
		}
	})
}

func TestRestartContinuesFromThePosition(t *testing.T) {
	bubble(t, func(w *world) {
		w.start()
		j := w.task("t1")
		ref := j.hook(task.HookRequest{ID: "c", URL: hookURL, Token: "t"})
		j.chunk("a", "b")
		w.pass(time.Second)
		w.halt()
		j.chunk("c")
		w.start()
		w.pass(time.Second)
		j.complete()
		w.pass(time.Second)
		want(t, "sent", w.net.texts(hookURL), "a b c TASK_STATE_COMPLETED")
		if h := w.stored(ref); !h.Settled {
			t.Error("the hook is not settled")
		}
	})
}

// A change may happen after a page of hooks was read and before its hooks are registered.
func TestLoadingMissesNothing(t *testing.T) {
	bubble(t, func(w *world) {
		w.make()
		j := w.task("t1")
		h, head := j.put(task.HookRequest{ID: "c", URL: hookURL}), j.head
		w.d.known.beginLoading()
		j.work() // the hook is not registered yet
		w.d.adopt(&task.Hooked{Hook: *h, Head: head})
		w.d.known.endLoading()
		w.start()
		w.pass(time.Second)
		want(t, "sent", w.net.texts(hookURL), "TASK_STATE_WORKING")
	})
}

func TestStopGivesTriesTheGrace(t *testing.T) {
	for _, tt := range []struct {
		takes  time.Duration
		counts bool
	}{{2 * time.Second, true}, {time.Minute, false}} {
		t.Run(tt.takes.String(), func(t *testing.T) {
			bubble(t, func(w *world) {
				w.net.answer = func(r *http.Request, _ *post) (int, error) {
					select {
					case <-time.After(tt.takes):
						return http.StatusOK, nil
					case <-r.Context().Done():
						return 0, r.Context().Err()
					}
				}
				w.cfg.Timeout = time.Hour
				w.start()
				j := w.task("t1")
				ref := j.hook(task.HookRequest{ID: "c", URL: hookURL})
				j.chunk("a", "b")
				synctest.Wait()
				began := time.Now()
				w.halt()
				if took := time.Since(began); took > 3*time.Second {
					t.Errorf("stopping took %v, want the grace at most", took)
				}
				want(t, "sent", w.net.texts(hookURL), "a")
				if got := w.stored(ref).Position; (got == 2) != tt.counts {
					t.Errorf("stored position = %d, want that the try counts: %v", got, tt.counts)
				}
			})
		})
	}
}

func TestPositionsAreSavedTogether(t *testing.T) {
	bubble(t, func(w *world) {
		w.start()
		var jobs []*job
		for i := range 100 {
			j := w.task(fmt.Sprint(i))
			j.hook(task.HookRequest{ID: "c", URL: hookURL})
			jobs = append(jobs, j)
		}
		for _, j := range jobs {
			j.chunk(numbers(50)...)
			j.complete()
		}
		w.pass(10 * time.Second)
		if got := len(w.net.got(hookURL)); got != 5100 {
			t.Fatalf("%d notifications, want 5100", got)
		}
		if w.store.advances > 50 {
			t.Errorf("%d writes for 5100 positions, want few", w.store.advances)
		}
	})
}

func TestABrokenStoreLosesNothing(t *testing.T) {
	bubble(t, func(w *world) {
		w.store.fail(true)
		j := w.task("t1")
		h := j.put(task.HookRequest{ID: "c", URL: hookURL})
		w.start()
		w.pass(time.Minute)
		w.store.fail(false)
		w.pass(time.Minute)
		j.chunk("a")
		w.pass(time.Minute)
		w.store.fail(true)
		j.chunk("b")
		w.pass(time.Minute)
		if got := w.stored(h.Ref()).Position; got != 2 {
			t.Errorf("stored position = %d, want 2", got)
		}
		w.store.fail(false)
		w.pass(time.Minute)
		want(t, "sent", w.net.texts(hookURL), "a b")
		if got := w.stored(h.Ref()).Position; got != 3 {
			t.Errorf("stored position = %d, want 3", got)
		}
	})
}

// However many hooks wait, a failing store is not asked more often, and the log is not flooded.
func TestFailingStoreIsPaused(t *testing.T) {
	bubble(t, func(w *world) {
		var log bytes.Buffer
		w.cfg.Logger = slog.New(slog.NewTextHandler(&log, nil))
		w.start()
		var jobs []*job
		for i := range 2000 {
			j := w.task(fmt.Sprint(i))
			j.hook(task.HookRequest{ID: "c", URL: fmt.Sprintf("https://h%d.example/", i)})
			jobs = append(jobs, j)
		}
		w.pass(time.Second)
		clear(w.d.cached[:])
		for i := range jobs {
			w.d.known.shard(jobs[i].head.Key).tasks[jobs[i].head.Key].target = nil
		}
		w.store.fail(true)
		for _, j := range jobs {
			j.work()
		}
		w.pass(time.Minute)
		if w.store.refused > 256*35 || strings.Count(log.String(), "\n") > 3 {
			t.Errorf("the store was asked %d times in a minute, and the log has %d lines:\n%.500s", w.store.refused, strings.Count(log.String(), "\n"), log.String())
		}
		w.store.fail(false)
		w.pass(time.Minute)
		if got := len(w.net.posts); got != len(jobs) {
			t.Errorf("%d hooks got a notification, want %d", got, len(jobs))
		}
	})
}

// A hub that starts with very many webhooks of an unreachable endpoint has no goroutines for
// them, and tries rarely. When the endpoint answers again, all get their notifications.
func TestManyHooksOfADeadEndpoint(t *testing.T) {
	alone(t, func(w *world) { // it counts the goroutines of the process
		w.net.answer = always(0, errBroken)
		const n = 20_000
		for i := range n {
			j := w.task(fmt.Sprint(i))
			j.put(task.HookRequest{ID: "c", URL: hookURL})
			j.work()
		}
		before := runtime.NumGoroutine()
		w.start()
		w.pass(time.Hour)
		synctest.Wait()
		if got := runtime.NumGoroutine() - before; got > 10 {
			t.Errorf("%d goroutines for %d waiting hooks", got, n)
		}
		if got := len(w.net.got(hookURL)); got < 10 || got > 40 {
			t.Errorf("a dead endpoint was tried %d times in an hour, want about 20", got)
		}
		if got := w.d.known.n.Load(); got != n {
			t.Errorf("%d hooks wait, want %d", got, n)
		}
		w.net.mu.Lock()
		w.net.answer = nil
		w.net.mu.Unlock()
		w.pass(time.Hour)
		if got := len(w.net.got(hookURL)); got != n {
			t.Errorf("%d hooks got a notification once the endpoint worked again, want %d", got, n)
		}
	})
}

func TestManyHooksAreSmall(t *testing.T) {
	const n = 100_000
	d, err := New(Config{Store: new(memstore.Store)})
	if err != nil {
		t.Fatal(err)
	}
	heap := func() int64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	before := heap()
	for i := range n {
		d.adopt(&task.Hooked{
			Hook: task.Hook{Task: task.Key(i + 1), ID: fmt.Sprintf("01993d8e-7a11-7c3e-9d5f-%012d", i), URL: fmt.Sprintf("https://%d.example/a/b/c?token=%d", i%100, i), Position: 1},
			Head: task.Head{Key: task.Key(i + 1), Version: 2, Rev: 2, StatusMessage: make([]byte, 1000)},
		})
	}
	if each := (heap() - before) / n; each > 300 {
		t.Errorf("a waiting hook takes %d bytes, want at most 300", each)
	}
	if got := d.known.n.Load(); got != n || len(d.queues) != 100 {
		t.Errorf("%d hooks in %d lanes, want %d in 100", got, len(d.queues), n)
	}
}
