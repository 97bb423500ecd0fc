package webhooks

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/parley-a2a/parley/internal/backoff"
	"github.com/parley-a2a/parley/internal/task"
	"github.com/parley-a2a/parley/internal/testing/suite/tasktest"
)

// elsewhere adds a chunk as another process does.
func (j *job) elsewhere(text string) {
	j.w.t.Helper()
	j.head = tasktest.Append(j.w.t, j.w.store, j.head, tasktest.Chunk(j.w.now(), "a", text))
}

// Follow delivers the changes of the tasks that it gets, and forgets their deleted webhooks. It
// does not look at other tasks, and does nothing for a task that another dispatcher holds.
func TestFollow(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w, holds := newWorld(t), true
		w.cfg.Holds = func(task.Key) bool { return holds }
		w.start()
		defer w.halt()
		w.pass(time.Second)
		one, other := w.task("one"), w.task("other")
		var refs []task.HookRef
		for _, id := range []string{"1", "2", "3", "4", "5"} {
			refs = append(refs, one.put(task.HookRequest{ID: id, URL: "https://one/" + id}).Ref())
		}
		other.put(task.HookRequest{ID: "1", URL: "https://other/"})
		follow := func(text string) {
			t.Helper()
			one.elsewhere(text)
			other.elsewhere(text)
			w.d.Follow([]task.Key{one.head.Key})
			w.pass(time.Second)
		}
		follow("a")
		for _, id := range []string{"1", "5"} {
			if got := w.net.texts("https://one/" + id); got != "a" {
				t.Errorf("webhook %s got %q, want a", id, got)
			}
		}
		if err := w.store.DropHook(context.Background(), refs[4]); err != nil {
			t.Fatal(err)
		}
		follow("b")
		if one, five := w.net.texts("https://one/1"), w.net.texts("https://one/5"); one != "b" || five != "" {
			t.Errorf("the webhooks got %q and, deleted, %q", one, five)
		}
		if got := w.net.texts("https://other/"); got != "" {
			t.Errorf("the webhook of another task got %q", got)
		}
		if err := w.d.Refresh(t.Context()); err != nil {
			t.Fatal(err)
		}
		w.pass(time.Second)
		if got := w.net.texts("https://other/"); got != "a b" {
			t.Errorf("after Refresh, the webhook of the other task got %q", got)
		}
		holds = false
		follow("c")
		if got := w.net.texts("https://one/1"); got != "" {
			t.Errorf("a dispatcher that does not hold the task sends %q", got)
		}
	})
}

// Follow finds the webhooks of all tasks that it gets, on whatever page of the store they are.
func TestFollowPages(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.cfg.Holds = func(task.Key) bool { return true }
		w.start()
		defer w.halt()
		w.pass(time.Second)
		const tasks, each = 30, 5
		var keys []task.Key
		var jobs []*job
		for n := range tasks {
			j := w.task(fmt.Sprint("t", n))
			for i := range each {
				j.put(task.HookRequest{ID: fmt.Sprint(i), URL: fmt.Sprintf("https://t%d.example/%d", n, i)})
			}
			j.elsewhere("a")
			jobs, keys = append(jobs, j), append(keys, j.head.Key)
		}
		slices.Reverse(keys)
		w.d.Follow(append(keys[:tasks-1:tasks-1], keys[3], 1<<30))
		w.pass(time.Second)
		for n := range jobs {
			for i := range each {
				url, want := fmt.Sprintf("https://t%d.example/%d", n, i), "a"
				if n == 0 { // Follow did not get it
					want = ""
				}
				if got := w.net.texts(url); got != want {
					t.Errorf("%s got %q, want %q", url, got, want)
				}
			}
		}
	})
}

// Yield waits for the try that runs, begins no other one, and stores the position. The next dispatcher begins
// after it. A try that hangs is ended after the grace period, and repeated by the next one.
func TestYield(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		takes, yields time.Duration
		next          string // the texts that the second dispatcher sends
	}{
		{time.Second, time.Second / 2, "b c"},
		{10 * time.Second, 3 * time.Second, "a b c"},
	} {
		synctest.Test(t, func(t *testing.T) {
			one, holds := newWorld(t), new(atomic.Int64)
			holds.Store(1)
			one.cfg.Holds = func(task.Key) bool { return holds.Load() == 1 }
			one.net.answer = func(r *http.Request, _ *post) (int, error) {
				return http.StatusOK, backoff.Sleep(r.Context(), tt.takes)
			}
			two := &world{t: t, store: one.store, net: new(network), cfg: one.cfg}
			two.cfg.Transport, two.cfg.Holds = two.net, func(task.Key) bool { return holds.Load() == 2 }
			one.start()
			defer one.halt()
			two.start()
			defer two.halt()
			j := one.task("t")
			ref := j.hook(task.HookRequest{ID: "1", URL: "https://a/"})
			j.chunk("a", "b", "c")
			one.pass(time.Second / 2)
			holds.Store(0) // both know that the members change
			began := time.Now()
			if err := one.d.Yield(t.Context()); err != nil {
				t.Fatal(err)
			}
			if took := time.Since(began); took > tt.yields {
				t.Errorf("Yield took %v, want %v at most", took, tt.yields)
			}
			if got := one.net.texts("https://a/"); got != "a" {
				t.Errorf("the first dispatcher sends %q, want a", got)
			}
			if _, known := one.d.Status(ref); known {
				t.Error("the first dispatcher still knows the webhook")
			}
			holds.Store(2)
			if err := two.d.Refresh(t.Context()); err != nil {
				t.Fatal(err)
			}
			two.pass(time.Minute)
			if got := two.net.texts("https://a/"); got != tt.next {
				t.Errorf("the second dispatcher sends %q, want %q", got, tt.next)
			}
			if got := one.net.texts("https://a/"); got != "" {
				t.Errorf("the first dispatcher then sends %q", got)
			}
		})
	}
}

// Suspend ends the try that runs, and no other one begins.
func TestSuspend(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w, holds := newWorld(t), new(atomic.Bool)
		holds.Store(true)
		w.cfg.Holds = func(task.Key) bool { return holds.Load() }
		ended := make(chan time.Time, 8)
		w.net.answer = func(r *http.Request, _ *post) (int, error) {
			err := backoff.Sleep(r.Context(), 10*time.Second)
			ended <- time.Now()
			return http.StatusOK, err
		}
		w.start()
		defer w.halt()
		j := w.task("t")
		j.hook(task.HookRequest{ID: "1", URL: "https://a/"})
		j.chunk("a", "b")
		w.pass(time.Second)
		holds.Store(false)
		w.d.Suspend()
		now := time.Now()
		w.pass(time.Minute)
		if at := <-ended; !at.Equal(now) {
			t.Errorf("the try ended %v after Suspend", at.Sub(now))
		}
		if got := w.net.texts("https://a/"); got != "a" {
			t.Errorf("the dispatcher sends %q, want a", got)
		}
	})
}
