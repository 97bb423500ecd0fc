package cli

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/parley-a2a/parley/auth"
	"github.com/parley-a2a/parley/internal/front/adminapi"
	"github.com/parley-a2a/parley/internal/store/memstore"
	"github.com/parley-a2a/parley/internal/task"
	"github.com/parley-a2a/parley/internal/testing/suite/tasktest"
	"github.com/parley-a2a/parley/internal/webhooks"
)

// refusing is a webhook that refuses every notification.
type refusing struct{}

// RoundTrip implements http.RoundTripper.
func (refusing) RoundTrip(r *http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: http.StatusTeapot, Header: http.Header{}, Body: http.NoBody, Request: r}, nil
}

// startPush serves the API of a hub with a task whose webhook has missed one notification.
func startPush(t *testing.T) (url string) {
	t.Helper()
	store := new(memstore.Store)
	d, err := webhooks.New(webhooks.Config{Store: store, Transport: refusing{}})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	wg.Go(func() { _ = d.Run(ctx) })
	t.Cleanup(func() { cancel(); wg.Wait() })
	h, err := d.Prepare(&task.HookRequest{ID: "c1", URL: "https://hook.example/x?key=S3CRET", Token: "S3CRET"})
	if err != nil {
		t.Fatal(err)
	}
	head := tasktest.Append(t, store, tasktest.NewHead("ann", "t/1"), tasktest.Created(1, "hello"))
	h.Task, h.Position = head.Key, head.Version
	if err := store.PutHook(ctx, h); err != nil {
		t.Fatal(err)
	}
	d.Changed(h.Ref(), h, &head)
	head = tasktest.Append(t, store, head, tasktest.Status(task.MillisOf(time.Now()), task.Completed, ""))
	d.Moved(&head)
	awaitDead(t, store, h.Ref())
	api := &adminapi.Handler{Hub: nil, Push: &adminapi.Push{Desk: store, Pusher: d}}
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		boss := &auth.Principal{ID: "boss", Roles: []string{auth.RoleAdmin}}
		api.ServeHTTP(w, r.WithContext(auth.WithPrincipal(r.Context(), boss)))
	}))
	t.Cleanup(srv.Close)
	return srv.URL
}

// awaitDead waits until a webhook is settled with a dead letter.
func awaitDead(t *testing.T, store *memstore.Store, ref task.HookRef) {
	t.Helper()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for {
		letters, err := store.DeadLetters(t.Context(), ref)
		if err != nil {
			t.Fatal(err)
		}
		if len(letters) > 0 {
			return
		}
		<-tick.C
	}
}

// runPush runs a command and returns its exit code and its output.
func runPush(t *testing.T, terminal bool, args ...string) (code int, out, errs string) {
	t.Helper()
	var stdout, stderr strings.Builder
	code = Main(t.Context(), append([]string{"push"}, args...), OS{Stdout: &stdout, Stderr: &stderr, Terminal: terminal})
	return code, stdout.String(), stderr.String()
}

func TestPushList(t *testing.T) {
	t.Parallel()
	url := startPush(t)
	for _, tt := range []struct {
		terminal bool
		args     []string
		want     string
	}{
		{false, nil, "t/1\tc1\tsettled\t2/2\thttps://hook.example/x?key=***\t-\n"},
		{false, []string{"--dead"}, "t/1\tc1\tsettled\t2/2\thttps://hook.example/x?key=***\tnot delivered 2: HTTP 418\n"},
		{false, []string{"--task", "other"}, ""},
		{true, []string{"--task", "other"}, "No webhooks.\n"},
		{true, []string{"--task", "t/1"}, "TASK  CONFIG  STATE    DELIVERED  URL                             TROUBLE\n" +
			"t/1   c1      settled  2/2        https://hook.example/x?key=***  not delivered 2: HTTP 418\n"},
	} {
		code, out, errs := runPush(t, tt.terminal, append([]string{"list", "--url", url}, tt.args...)...)
		if diff := cmp.Diff(tt.want, out); code != exitOK || errs != "" || diff != "" {
			t.Errorf("push list %q = %d, %q, mismatch (-want +got):\n%s", tt.args, code, errs, diff)
		}
	}
	code, out, _ := runPush(t, false, "list", "--url", url, "--json", "--dead")
	if code != exitOK || !strings.Contains(out, `"deadLetters":[{"first":2,"last":2,`) || strings.Contains(out, "S3CRET") {
		t.Errorf("push list --json = %d, %s", code, out)
	}
}

func TestPushRedeliver(t *testing.T) {
	t.Parallel()
	url := startPush(t)
	code, out, errs := runPush(t, false, "redeliver", "--url", url, "t/1", "c1")
	if code != exitOK || out != "c1 of t/1 is notified again from version 2\n" || errs != "" {
		t.Errorf("push redeliver = %d, %q, %q", code, out, errs)
	}
	code, _, errs = runPush(t, false, "redeliver", "--url", url, "t/1", "c2")
	if code != exitFailed || !strings.Contains(errs, "no such webhook") {
		t.Errorf("push redeliver of nothing = %d, %q", code, errs)
	}
	code, _, errs = runPush(t, false, "redeliver", "--url", url)
	if code != exitUsage {
		t.Errorf("push redeliver without a task = %d, %q", code, errs)
	}
}

func TestPushAllowIsChecked(t *testing.T) {
	t.Parallel()
	var stderr strings.Builder
	code := Main(t.Context(), []string{"serve", "--data", t.TempDir(), "--push-allow", "10.0.0.0/99"}, OS{Stdout: &stderr, Stderr: &stderr})
	if code != exitUsage || !strings.Contains(stderr.String(), "--push-allow") {
		t.Errorf("serve = %d, %q, want a refused flag", code, stderr.String())
	}
}
