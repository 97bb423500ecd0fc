package webhooks

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

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
			if err := w.d.Follow(t.Context(), []task.Key{one.head.Key}); err != nil {
				t.Fatal(err)
			}
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
		if err := w.d.Follow(t.Context(), append(keys[:tasks-1:tasks-1], keys[3], 1<<30)); err != nil {
			t.Fatal(err)
		}
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
