package parley_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/parley-a2a/parley"
	"github.com/parley-a2a/parley/push"
	"github.com/parley-a2a/parley/worker"
)

// TestOpenFails opens hubs that cannot be: each method that may open them returns the error, with
// the field, and none panics.
func TestOpenFails(t *testing.T) {
	t.Parallel()
	short := filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(short, []byte("short!"), 0o600); err != nil {
		t.Fatal(err)
	}
	blobs, err := parley.OpenBlobs(t.TempDir(), parley.BlobOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer blobs.Close()
	for want, hub := range map[string]*parley.Hub{
		"KeyFile: ":         {KeyFile: filepath.Join(t.TempDir(), "none", "key")},
		"6 bytes":           {KeyFile: short},
		"needs PublicURL":   {Blobs: blobs},
		"Directory.Allow: ": {Directory: &parley.Directory{Allow: []string{"not an address/"}}},
		"10.0.0.0/99":       {Push: push.Options{Allow: []string{"10.0.0.0/99"}}},
	} {
		ctx, stop := context.WithCancel(t.Context())
		stop() // a hub that opens nevertheless ends at once
		for name, err := range map[string]error{
			"Open": hub.Open(ctx), "Run": hub.Run(ctx), "ListenAndServe": hub.ListenAndServe(ctx, "127.0.0.1:0"),
		} {
			if err == nil || !strings.HasPrefix(err.Error(), "open hub: ") || !strings.Contains(err.Error(), want) {
				t.Errorf("%s = %v, want %q", name, err, want)
			}
		}
		w := httptest.NewRecorder()
		hub.Handler().ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/healthz", nil))
		if body := w.Body.String(); w.Code != http.StatusServiceUnavailable || strings.Contains(body, want) {
			t.Errorf("%s: GET /healthz = %d %s, want 503 without the reason", want, w.Code, body)
		}
	}
}

// TestOpenAgain opens a hub once its key file can be created.
func TestOpenAgain(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "data")
	hub := &parley.Hub{KeyFile: filepath.Join(dir, "key")}
	if err := hub.Open(t.Context()); err == nil {
		t.Fatal("opened without a folder for the key")
	}
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := hub.Open(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
}

// TestOpenFailsWithoutATrace opens a hub whose parts were given to one that failed to open: they
// belong to the hub that is open, whose store is another one.
func TestOpenFailsWithoutATrace(t *testing.T) {
	t.Parallel()
	hub := &parley.Hub{
		Push: push.Options{Allow: []string{"10.0.0.0/99"}}, Memory: &parley.Memory{Notes: new(parley.Notes)},
		Queues: &parley.Queues{Bus: new(worker.Memory), ID: "hub"}, Inbox: new(parley.Inbox), Directory: new(parley.Directory),
	}
	if err := hub.Open(t.Context()); err == nil {
		t.Fatal("opened with invalid addresses of webhooks")
	}
	if q := hub.Queues; hub.Memory.Notes.Fetch != nil || hub.Inbox.Deliver != nil || q.Tasks != nil || q.Runs != nil || q.Lost != nil || q.Claimed != nil {
		t.Errorf("the hub that was not opened has set fields of its parts: %+v", q)
	}
	hub.Push.Allow = nil
	if err := hub.Open(t.Context()); err != nil {
		t.Fatal(err)
	}
	if q := hub.Queues; hub.Memory.Notes.Fetch == nil || hub.Inbox.Deliver == nil || q.Tasks == nil || q.Runs == nil || q.Lost == nil || q.Claimed == nil {
		t.Errorf("the open hub has not set fields of its parts: %+v", q)
	}
}
