package webhooks

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/parley-a2a/parley/internal/secret/seal"
	"github.com/parley-a2a/parley/internal/task"
)

// respond changes the answer function of the network.
func (n *network) respond(f func(*http.Request, *post) (int, error)) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.answer = f
}

func TestFailuresAreRetried(t *testing.T) {
	for name, answer := range map[string]func(*http.Request, *post) (int, error){
		"network":  times(3, 0, errors.New("connection refused")),
		"500":      times(3, 500, nil),
		"503":      times(3, 503, nil),
		"429":      times(3, 429, nil),
		"408":      times(3, 408, nil),
		"425":      times(3, 425, nil),
		"too long": times(3, 0, errTimeout),
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(w *world) {
				w.net.respond(answer)
				w.start()
				j := w.task("t1")
				ref := j.hook(task.HookRequest{ID: "c", URL: hookURL})
				j.chunk("a", "b")
				w.pass(100 * time.Millisecond)
				if st, ok := w.d.Status(ref); !ok || st.Tries != 1 || st.LastError == "" || st.Next.IsZero() || st.Behind != 2 || st.Position != 1 {
					t.Errorf("Status = %+v, %v, want one try of two versions behind", st, ok)
				}
				w.pass(time.Minute)
				posts := w.net.got(hookURL)
				var texts []string
				for _, p := range posts {
					texts = append(texts, p.text)
				}
				want(t, "sent", strings.Join(texts, " "), "a a a a b")
				if id := posts[0].header["Webhook-Id"][0]; posts[3].header["Webhook-Id"][0] != id || posts[4].header["Webhook-Id"][0] == id {
					t.Error("tries of one notification, and only they, must have one id")
				}
				if st, _ := w.d.Status(ref); st.Tries != 0 || st.LastError != "" || st.Behind != 0 {
					t.Errorf("Status = %+v, want one without trouble", st)
				}
				want(t, "dead letters", w.dead(ref), "")
			})
		})
	}
}

func TestHangingWebhooksTimeOut(t *testing.T) {
	bubble(t, func(w *world) {
		w.net.respond(func(r *http.Request, _ *post) (int, error) {
			<-r.Context().Done()
			return 0, r.Context().Err()
		})
		w.start()
		j := w.task("t1")
		ref := j.hook(task.HookRequest{ID: "c", URL: hookURL})
		j.work()
		w.pass(14 * time.Second)
		if st, _ := w.d.Status(ref); !st.Underway || st.Tries != 0 {
			t.Errorf("after 14 s: %+v, want the first try under way", st)
		}
		w.pass(1100 * time.Millisecond)
		if st, _ := w.d.Status(ref); st.Tries != 1 || st.LastError != "no answer in time" {
			t.Errorf("after 15 s: %+v, want a try that took too long", st)
		}
	})
}

func TestRetryAfterIsHonoured(t *testing.T) {
	bubble(t, func(w *world) {
		w.net.header = http.Header{"Retry-After": {"1000"}}
		w.net.respond(times(1, 429, nil))
		w.start()
		j := w.task("t1")
		j.hook(task.HookRequest{ID: "c", URL: hookURL})
		j.work()
		w.pass(2000 * time.Second)
		posts := w.net.got(hookURL)
		if len(posts) != 2 || posts[1].at.Sub(posts[0].at) != 1000*time.Second {
			t.Errorf("%d tries, want two with 1000 s between them", len(posts))
		}
	})
}

func TestRefusedNotificationsAreDropped(t *testing.T) {
	for _, code := range []int{301, 307, 400, 401, 404, 413} {
		t.Run(fmt.Sprint(code), func(t *testing.T) {
			bubble(t, func(w *world) {
				w.net.respond(times(3, code, nil))
				w.start()
				j := w.task("t1")
				ref := j.hook(task.HookRequest{ID: "c", URL: hookURL})
				j.chunk("a", "b", "c", "d")
				w.pass(time.Second)
				want(t, "sent", w.net.texts(hookURL), "a b c d")
				reason := classify(code, nil, time.Now()).reason
				want(t, "dead letters", w.dead(ref), "2-4 "+reason+" (1)")
				if got := w.stored(ref).Position; got != 5 {
					t.Errorf("stored position = %d, want 5", got)
				}
			})
		})
	}
}

func TestDeadLettersBeginAnewAfterASuccess(t *testing.T) {
	bubble(t, func(w *world) {
		w.net.respond(func(_ *http.Request, p *post) (int, error) {
			if strings.Contains("bdef", p.text) {
				return 400, nil
			}
			return 200, nil
		})
		w.start()
		j := w.task("t1")
		ref := j.hook(task.HookRequest{ID: "c", URL: hookURL})
		j.chunk("a", "b", "c", "d")
		w.pass(time.Second)
		j.chunk("e")
		w.pass(time.Second)
		j.chunk("f", "g")
		j.complete()
		w.pass(time.Second)
		want(t, "dead letters", w.dead(ref), "3-3 HTTP 400 (1); 5-7 HTTP 400 (1)")
	})
}

func TestManyDeadLettersWaitForTheStore(t *testing.T) {
	bubble(t, func(w *world) {
		w.net.respond(func(_ *http.Request, p *post) (int, error) {
			if strings.HasSuffix(p.text, "0") || strings.HasSuffix(p.text, "5") {
				return 400, nil
			}
			return 200, nil
		})
		w.start()
		j := w.task("t1")
		ref := j.hook(task.HookRequest{ID: "c", URL: hookURL})
		j.chunk("first")
		w.pass(time.Second)
		w.store.fail(true)
		j.chunk(numbers(200)...)
		w.pass(time.Hour)
		if got := len(w.d.known.shard(ref.Task).findLocked(ref).failure.unsaved); got > maxUnsaved {
			t.Errorf("%d dead letters wait in memory, want at most %d", got, maxUnsaved)
		}
		w.store.fail(false)
		w.pass(time.Hour)
		if got := strings.Count(w.dead(ref), ";") + 1; got != 40 {
			t.Errorf("%d dead letters, want 40", got)
		}
		if got := w.stored(ref).Position; got != 202 {
			t.Errorf("stored position = %d, want 202", got)
		}
	})
}

func TestGoneEndsTheWebhook(t *testing.T) {
	bubble(t, func(w *world) {
		written := make(chan struct{})
		w.net.respond(func(_ *http.Request, p *post) (int, error) {
			if p.text == "b" {
				<-written // the dead letter covers the entries so far
				return 410, nil
			}
			return 200, nil
		})
		w.start()
		j := w.task("t1")
		ref := j.hook(task.HookRequest{ID: "c", URL: hookURL})
		j.chunk("a", "b", "c", "d")
		close(written)
		w.pass(time.Second)
		j.complete()
		w.pass(time.Second)
		want(t, "sent", w.net.texts(hookURL), "a b")
		want(t, "dead letters", w.dead(ref), "3-5 HTTP 410: the webhook is gone (1)")
		if h := w.stored(ref); !h.Settled || w.d.known.n.Load() != 0 {
			t.Errorf("hook = %+v, want it settled and forgotten", h)
		}
		w.net.respond(nil)
		if _, err := w.d.Redeliver(t.Context(), ref); err != nil {
			t.Fatal(err)
		}
		w.pass(time.Second)
		want(t, "sent again", w.net.texts(hookURL), "b c d TASK_STATE_COMPLETED")
		want(t, "dead letters", w.dead(ref), "")
	})
}

func TestOldNotificationsAreDropped(t *testing.T) {
	bubble(t, func(w *world) {
		w.net.respond(always(503, nil))
		w.start()
		j := w.task("t1")
		ref := j.hook(task.HookRequest{ID: "c", URL: hookURL})
		j.chunk("a")
		w.pass(23 * time.Hour)
		want(t, "dead letters after 23 h", w.dead(ref), "")
		w.net.got(hookURL)
		w.pass(2 * time.Hour)
		if got := w.dead(ref); !strings.Contains(got, "2-2 given up after") || !strings.Contains(got, "the last: HTTP 503") {
			t.Errorf("dead letters after 25 h = %q, want the notification", got)
		}
		// A version that was never tried is tried once, however old it is.
		w.halt()
		j.chunk("b")
		w.pass(48 * time.Hour)
		w.net.got(hookURL)
		w.net.respond(nil)
		w.start()
		w.pass(time.Minute)
		want(t, "sent after two days", w.net.texts(hookURL), "b")
	})
}

func TestSecretsThatCannotBeOpenedAreNotSent(t *testing.T) {
	bubble(t, func(w *world) {
		j := w.task("t1")
		ref := j.put(task.HookRequest{ID: "c", URL: hookURL, Token: "t"}).Ref()
		j.work()
		w.cfg.Sealer = seal.New()
		w.start()
		w.pass(time.Second)
		want(t, "sent", w.net.texts(hookURL), "")
		want(t, "dead letters", w.dead(ref), "2-2 "+errSealed.Error()+" (1)")
	})
}

func TestRedeliver(t *testing.T) {
	bubble(t, func(w *world) {
		w.net.respond(always(404, nil))
		w.start()
		j := w.task("t1")
		ref := j.hook(task.HookRequest{ID: "c", URL: hookURL})
		j.chunk("a", "b")
		w.pass(5 * time.Millisecond) // its second dead letter is not durable yet
		w.net.respond(nil)
		w.net.got(hookURL)
		got, err := w.d.Redeliver(t.Context(), ref)
		if err != nil || got.Position != 1 || got.Settled || got.Head.Version != 3 {
			t.Errorf("Redeliver = %+v, %v, want the hook in front of version 2", got.Hook, err)
		}
		w.pass(time.Second)
		j.complete()
		w.pass(time.Second)
		want(t, "sent again", w.net.texts(hookURL), "a b TASK_STATE_COMPLETED")
		want(t, "dead letters", w.dead(ref), "")
		if _, err := w.d.Redeliver(t.Context(), task.HookRef{Task: 99, ID: "c"}); !errors.Is(err, task.ErrNotFound) {
			t.Errorf("Redeliver of nothing: %v, want ErrNotFound", err)
		}
		j2 := w.task("t2")
		ref2 := j2.hook(task.HookRequest{ID: "c", URL: hookURL})
		j2.chunk("a")
		w.pass(time.Second)
		w.store.fail(true)
		j2.chunk("b")
		w.pass(time.Second)
		if _, err := w.d.Redeliver(t.Context(), ref2); err == nil {
			t.Error("Redeliver on a broken store: no error")
		}
	})
}

func TestRedeliverDoesNotWait(t *testing.T) {
	bubble(t, func(w *world) {
		w.net.respond(always(500, nil))
		w.start()
		j := w.task("t1")
		ref := j.hook(task.HookRequest{ID: "c", URL: hookURL})
		j.work()
		w.pass(time.Hour)
		if st, _ := w.d.Status(ref); st.Breaker != "open" || st.Until.IsZero() {
			t.Fatalf("status = %+v, want an open breaker", st)
		}
		w.net.got(hookURL)
		w.net.respond(nil)
		if _, err := w.d.Redeliver(t.Context(), ref); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		want(t, "sent at once", w.net.texts(hookURL), "TASK_STATE_WORKING")
		if st, _ := w.d.Status(ref); st.Breaker != "closed" {
			t.Errorf("status = %+v, want a closed breaker", st)
		}
	})
}

func TestBreaker(t *testing.T) {
	bubble(t, func(w *world) {
		w.net.respond(always(500, nil))
		w.start()
		var refs []task.HookRef
		const n = 20
		for i := range n {
			j := w.task(fmt.Sprint(i))
			refs = append(refs, j.hook(task.HookRequest{ID: "c", URL: hookURL}))
			j.work()
		}
		w.pass(time.Millisecond)
		// Up to eight were under way when the fifth failed.
		if got := len(w.net.got(hookURL)); got > 12 {
			t.Errorf("%d tries before the breaker opened, want at most 12", got)
		}
		open := 0
		for _, ref := range refs {
			if st, _ := w.d.Status(ref); st.Breaker == "open" {
				open++
			}
		}
		if open != n {
			t.Errorf("%d of %d hooks see an open breaker", open, n)
		}
		began := time.Now()
		var at []time.Duration
		for range 8 {
			for len(at) == 0 || at[len(at)-1] >= 0 {
				w.pass(time.Second)
				if n := len(w.net.got(hookURL)); n > 1 {
					t.Fatalf("%d tries by an open breaker, want one at a time", n)
				} else if n == 1 {
					at = append(at, time.Since(began))
					break
				}
			}
		}
		for i, want := range []time.Duration{10, 20, 40, 80, 160, 300, 300} {
			since := at[i]
			if i > 0 {
				since -= at[i-1]
			}
			// A probe needs a hook that is due; the retries wait up to five minutes.
			if since < want*time.Second-time.Second {
				t.Errorf("probe %d after %v, want at least %v", i, since, want*time.Second)
			}
		}
		w.net.respond(nil)
		w.pass(time.Hour)
		if got := len(w.net.got(hookURL)); got != n {
			t.Errorf("%d hooks got a notification when the endpoint worked again, want %d", got, n)
		}
	})
}

func TestOneEndpointDoesNotHoldUpAnother(t *testing.T) {
	bubble(t, func(w *world) {
		w.net.respond(func(r *http.Request, p *post) (int, error) {
			if strings.HasPrefix(p.url, hookURL) {
				<-r.Context().Done()
				return 0, r.Context().Err()
			}
			return 200, nil
		})
		w.start()
		for i := range 100 {
			j := w.task(fmt.Sprint(i))
			j.hook(task.HookRequest{ID: "c", URL: hookURL})
			j.work()
		}
		j := w.task("good")
		j.hook(task.HookRequest{ID: "c", URL: "https://good.example/"})
		j.work()
		synctest.Wait()
		want(t, "sent", w.net.texts("https://good.example/"), "TASK_STATE_WORKING")
		if got := w.net.most[hookURL]; got != 8 {
			t.Errorf("%d tries at one endpoint at one time, want 8", got)
		}
	})
}

func TestAHookThatFailsDoesNotHoldUpItsEndpoint(t *testing.T) {
	bubble(t, func(w *world) {
		w.net.respond(func(r *http.Request, p *post) (int, error) {
			if p.url == hookURL {
				return 503, nil
			}
			return 200, nil
		})
		w.cfg.PerEndpoint = 1
		w.start()
		bad, good := w.task("bad"), w.task("good")
		bad.hook(task.HookRequest{ID: "c", URL: hookURL})
		good.hook(task.HookRequest{ID: "c", URL: hookURL + "/good"})
		bad.work()
		texts := numbers(20)
		for _, s := range texts {
			good.chunk(s)
			synctest.Wait()
		}
		want(t, "sent", w.net.texts(hookURL+"/good"), strings.Join(texts, " "))
	})
}

// With one place, a hook with a long log yields to another after a while.
func TestHooksAlternate(t *testing.T) {
	bubble(t, func(w *world) {
		w.net.respond(w.net.slow(100 * time.Millisecond))
		w.cfg.PerEndpoint = 1
		w.start()
		long, short := w.task("long"), w.task("short")
		long.hook(task.HookRequest{ID: "c", URL: hookURL})
		short.hook(task.HookRequest{ID: "c", URL: hookURL + "2"})
		long.chunk(numbers(300)...)
		short.work()
		w.pass(3 * time.Second)
		want(t, "sent", w.net.texts(hookURL+"2"), "TASK_STATE_WORKING")
		w.pass(time.Minute)
		want(t, "sent", w.net.texts(hookURL), strings.Join(numbers(300), " "))
		if w.net.peak != 1 {
			t.Errorf("%d tries at one time, want 1", w.net.peak)
		}
	})
}

func TestConcurrencyIsBounded(t *testing.T) {
	bubble(t, func(w *world) {
		w.net.respond(w.net.slow(time.Second))
		w.start()
		for i := range 400 {
			j := w.task(fmt.Sprint(i))
			j.hook(task.HookRequest{ID: "c", URL: fmt.Sprintf("https://h%d.example/", i)})
			j.work()
		}
		w.pass(10 * time.Second)
		if w.net.peak != 256 || len(w.net.posts) != 400 {
			t.Errorf("%d tries at one time and %d in all, want 256 and 400", w.net.peak, len(w.net.posts))
		}
	})
}
