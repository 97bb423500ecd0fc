package adminapi_test

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/google/go-cmp/cmp"

	"github.com/parley-a2a/parley/auth"
	"github.com/parley-a2a/parley/internal/front/adminapi"
	"github.com/parley-a2a/parley/internal/store/memstore"
	"github.com/parley-a2a/parley/internal/task"
	"github.com/parley-a2a/parley/internal/testing/suite/tasktest"
	"github.com/parley-a2a/parley/internal/webhooks"
)

// receiver answers every notification with a code, and counts them.
type receiver struct {
	mu   sync.Mutex
	code int
	n    int
}

// RoundTrip implements http.RoundTripper.
func (r *receiver) RoundTrip(req *http.Request) (*http.Response, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.n++
	return &http.Response{StatusCode: r.code, Header: http.Header{}, Body: http.NoBody, Request: req}, nil
}

// answer changes the code and returns the number of notifications until now.
func (r *receiver) answer(code int) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.code = code
	return r.n
}

// hooks is a handler of webhooks in a synctest bubble.
type hooks struct {
	t     *testing.T
	store *memstore.Store
	net   *receiver
	d     *webhooks.Dispatcher
	h     *adminapi.Handler
}

// withWebhooks runs f in a bubble.
func withWebhooks(t *testing.T, f func(w *hooks)) {
	t.Helper()
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := &hooks{t: t, store: new(memstore.Store), net: &receiver{code: 404}}
		d, err := webhooks.New(webhooks.Config{Store: w.store, Transport: w.net})
		if err != nil {
			t.Fatal(err)
		}
		w.d, w.h = d, &adminapi.Handler{Hub: newHub(), Push: &adminapi.Push{Desk: w.store, Pusher: d}}
		ctx, cancel := context.WithCancel(context.Background())
		var wg sync.WaitGroup
		wg.Go(func() { _ = d.Run(ctx) })
		f(w)
		cancel()
		wg.Wait()
	})
}

// hooked creates a task of an owner with webhooks, each with one change to deliver.
func (w *hooks) hooked(owner task.Owner, id a2a.TaskID, configs ...string) {
	w.t.Helper()
	now := func() task.Millis { return task.MillisOf(time.Now()) }
	head := tasktest.Append(w.t, w.store, tasktest.NewHead(owner, id), tasktest.Created(now(), "secret text"))
	for _, c := range configs {
		k, err := w.d.Prepare(&task.HookRequest{
			ID: c, URL: "https://hook.example/" + c + "?key=S3CRET&S3CRET&x=", Token: "S3CRET", Scheme: "Bearer", Credentials: "S3CRET",
		})
		if err != nil {
			w.t.Fatal(err)
		}
		k.Task, k.Position = head.Key, head.Version
		if err := w.store.PutHook(w.t.Context(), k); err != nil {
			w.t.Fatal(err)
		}
		w.d.Changed(k.Ref(), k, &head)
	}
	head = tasktest.Append(w.t, w.store, head, tasktest.Status(now(), task.Working, ""))
	w.d.Moved(&head)
}

// rest waits until everything was delivered once and saved. It runs in a bubble.
func (w *hooks) rest() {
	time.Sleep(100 * time.Millisecond)
	synctest.Wait()
}

// list returns "task/config state position/version" of all webhooks that a query finds.
func (w *hooks) list(query string) string {
	w.t.Helper()
	got := as(w.t, w.h, boss, "GET /api/v1/push"+query, "")
	if got.code != 200 || strings.Contains(got.body, "S3CRET") || strings.Contains(got.body, "secret text") {
		w.t.Fatalf("GET /api/v1/push%s = %d %s", query, got.code, got.body)
	}
	body := got.decode(w.t)
	var all []string
	for _, v := range body["webhooks"].([]any) {
		k := v.(map[string]any)
		all = append(all, fmt.Sprintf("%v/%v %v %v/%v", k["task"], k["config"], k["state"], k["delivered"], k["version"]))
	}
	if token, _ := body["nextPageToken"].(string); token != "" {
		more := w.list(query + "&pageToken=" + url.QueryEscape(token))
		return strings.Join(all, ", ") + " | " + more
	}
	return strings.Join(all, ", ")
}

func TestWebhooksAreListed(t *testing.T) {
	withWebhooks(t, func(w *hooks) {
		if got := w.list(""); got != "" {
			t.Errorf("list of a new hub = %q", got)
		}
		w.hooked("ann", "t1", "a", "b")
		w.rest()
		w.net.answer(500)
		w.hooked("bob", "t1", "c")
		w.hooked("bob", "t2", "d")
		w.rest()
		for query, want := range map[string]string{
			"":                     "t1/a current 2/2, t1/b current 2/2, t1/c retrying 1/2, t2/d retrying 1/2",
			"?task=t1":             "t1/a current 2/2, t1/b current 2/2, t1/c retrying 1/2",
			"?task=t3":             "",
			"?dead=true":           "t1/a current 2/2, t1/b current 2/2",
			"?dead=true&task=t2":   "",
			"?pageSize=3":          "t1/a current 2/2, t1/b current 2/2, t1/c retrying 1/2 | t2/d retrying 1/2",
			"?pageSize=2":          "t1/a current 2/2, t1/b current 2/2 | t1/c retrying 1/2, t2/d retrying 1/2",
			"?pageSize=1&dead=1":   "t1/a current 2/2 | t1/b current 2/2",
			"?pageSize=1000000000": "t1/a current 2/2, t1/b current 2/2, t1/c retrying 1/2, t2/d retrying 1/2",
		} {
			if got := w.list(query); got != want {
				t.Errorf("list%s = %q, want %q", query, got, want)
			}
		}
	})
}

func TestAWebhookIsShownWithoutSecrets(t *testing.T) {
	withWebhooks(t, func(w *hooks) {
		w.hooked("ann", "t1", "a")
		w.rest()
		got := as(t, w.h, boss, "GET /api/v1/push?task=t1", "")
		want := map[string]any{"webhooks": []any{map[string]any{
			"task": "t1", "config": "a", "owner": "ann", "agent": "echo", "scheme": "Bearer",
			"url": "https://hook.example/a?key=***&***&x=", "createdAt": "2000-01-01T00:00:00Z",
			"state": "current", "delivered": 2.0, "version": 2.0, "breaker": "closed", "lastError": "HTTP 404",
			"deadLetters": []any{map[string]any{
				"first": 2.0, "last": 2.0, "at": "2000-01-01T00:00:00Z", "attempts": 1.0, "reason": "HTTP 404",
			}},
		}}}
		if diff := cmp.Diff(want, got.decode(t)); diff != "" {
			t.Errorf("answer mismatch (-want +got):\n%s", diff)
		}
	})
}

func TestRedeliver(t *testing.T) {
	withWebhooks(t, func(w *hooks) {
		w.hooked("ann", "t1", "a", "b")
		w.rest()
		before := w.net.answer(200)
		got := as(t, w.h, boss, "POST /api/v1/push/t1/redeliver", `{"config":"b"}`)
		if got.code != 200 || !strings.Contains(got.body, `"config":"b"`) || strings.Contains(got.body, "S3CRET") {
			t.Errorf("redeliver b = %d %s", got.code, got.body)
		}
		w.rest()
		if n := w.net.answer(200) - before; n != 1 {
			t.Errorf("%d notifications, want 1", n)
		}
		got = as(t, w.h, boss, "POST /api/v1/push/t1/redeliver", "")
		if body := got.decode(t); got.code != 200 || len(body["webhooks"].([]any)) != 1 {
			t.Errorf("redeliver = %d %s, want the rest", got.code, got.body)
		}
		w.rest()
		if n := w.net.answer(200) - before; n != 2 {
			t.Errorf("%d notifications, want 2", n)
		}
		if got := w.list("?dead=true"); got != "" {
			t.Errorf("dead letters of %q are left", got)
		}
		got = as(t, w.h, boss, "POST /api/v1/push/t1/redeliver", "{}")
		if got.code != 200 || got.body != `{"webhooks":[]}` {
			t.Errorf("redeliver nothing = %d %s", got.code, got.body)
		}
	})
}

func TestPushRefusals(t *testing.T) {
	withWebhooks(t, func(w *hooks) {
		w.hooked("ann", "t1", "a")
		ann := &auth.Principal{ID: "ann"}
		for request, want := range map[string]struct {
			p              *auth.Principal
			body           string
			code           int
			status, reason string
		}{
			"GET /api/v1/push":                         {ann, "", 403, "PERMISSION_DENIED", ""},
			"GET /api/v1/push?task=t1":                 {ann, "", 403, "PERMISSION_DENIED", ""},
			"POST /api/v1/push/t1/redeliver":           {ann, "{}", 403, "PERMISSION_DENIED", ""},
			"GET /api/v1/push?dead=perhaps":            {boss, "", 400, "INVALID_ARGUMENT", "INVALID_PARAMS"},
			"GET /api/v1/push?pageSize=0":              {boss, "", 400, "INVALID_ARGUMENT", "INVALID_PARAMS"},
			"GET /api/v1/push?pageToken=x":             {boss, "", 400, "INVALID_ARGUMENT", "INVALID_PARAMS"},
			"GET /api/v1/push/t1":                      {boss, "", 404, "NOT_FOUND", ""},
			"POST /api/v1/push//redeliver":             {boss, "", 404, "NOT_FOUND", ""},
			"POST /api/v1/push/t2/redeliver":           {boss, "", 404, "NOT_FOUND", "WEBHOOK_NOT_FOUND"},
			"POST /api/v1/push/t1/redeliver?again=yes": {boss, `{"config":"gone"}`, 404, "NOT_FOUND", "WEBHOOK_NOT_FOUND"},
		} {
			got := as(t, w.h, want.p, request, want.body)
			if got.code != want.code || !strings.Contains(got.body, want.status) && want.code != 404 || !strings.Contains(got.body, want.reason) {
				t.Errorf("%s = %d %s, want %d %s %s", request, got.code, got.body, want.code, want.status, want.reason)
			}
		}
	})
}
