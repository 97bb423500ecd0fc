package notify

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/parley-a2a/parley/internal/inbox"
	"github.com/parley-a2a/parley/internal/testing/testenv"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// TestNotifier puts two items, one of which is settled. The address refuses the first, and the
// program gets both; the text of an item must not be run as a command.
func TestNotifier(t *testing.T) {
	t.Parallel()
	sh := testenv.Tool(t, "sh")
	var received []string
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var it inbox.Item
		body, _ := io.ReadAll(r.Body)
		if err := json.Unmarshal(body, &it); err != nil || r.Header.Get("Content-Type") != "application/json" {
			t.Errorf("the address is sent %q", body)
		}
		if received = append(received, string(it.ID)); len(received) == 1 {
			w.WriteHeader(http.StatusInternalServerError)
		}
	}))
	defer srv.Close()
	ctx, cancel := context.WithCancel(t.Context())
	b := new(inbox.Inbox)
	items := b.Watch(t.Context())
	for _, id := range []inbox.ID{"a", "b"} {
		if _, err := b.Put(ctx, &inbox.Item{ID: id, Kind: inbox.Approval, Text: "$(touch hacked); `x`"}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := b.Approve(ctx, "b", "me", ""); err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	all.Go(func() { _ = b.Run(ctx) })
	cancel()
	all.Wait() // so that the items have an end
	out, log := filepath.Join(t.TempDir(), "out"), new(bytes.Buffer)
	n := &Notifier{
		Inbox: b, URL: srv.URL, Command: []string{sh, "-c", `cat >> "$0"; echo " $PARLEY_ITEM $PARLEY_ITEM_KIND" >> "$0"`, out},
		Logger: slog.New(slog.NewTextHandler(log, nil)),
	}
	if n.follow(t.Context(), srv.Client(), items) {
		t.Error("the notifier was too slow")
	}
	if diff := cmp.Diff([]string{"a", "b"}, received); diff != "" {
		t.Errorf("items at the address (-want +got):\n%s", diff)
	}
	text, err := os.ReadFile(out)
	for _, want := range []string{"$(touch hacked); `x`", " a approval\n", " b approval\n"} {
		if !strings.Contains(string(text), want) {
			t.Errorf("the program receives %q, %v; want %q", text, err, want)
		}
	}
	if strings.Count(log.String(), "500 Internal Server Error") != 1 {
		t.Errorf("log = %s, want that the address refuses once", log)
	}
}

func TestRunEndsWithTheInbox(t *testing.T) {
	t.Parallel()
	b := new(inbox.Inbox)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_ = b.Run(ctx)
	if err := (&Notifier{Inbox: b}).Run(t.Context()); err != nil {
		t.Errorf("Run: %v", err)
	}
}
