package parley_test

import (
	"crypto/ed25519"
	"net/http"
	"strings"
	"testing"

	"github.com/parley-a2a/parley"
	"github.com/parley-a2a/parley/internal/audit"
	"github.com/parley-a2a/parley/internal/inbox"
	"github.com/parley-a2a/parley/internal/store/memstore"
	"github.com/parley-a2a/parley/internal/trust"
)

var auditKey = ed25519.NewKeyFromSeed(make([]byte, ed25519.SeedSize))

// TestAPIServesItsParts checks that the API serves each part that the hub has, and nothing if
// it is off.
func TestAPIServesItsParts(t *testing.T) {
	t.Parallel()
	paths := []string{"/api/v1/agents", "/api/v1/tasks", "/api/v1/inbox", "/api/v1/trust", "/api/v1/audit"}
	log, err := audit.Open(audit.Options{Dir: t.TempDir(), Key: auditKey, Level: audit.Tasks})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { log.Close() })
	for name, tt := range map[string]struct {
		hub  *parley.Hub
		want int // the number of served paths, from the first on
	}{
		"none":      {&parley.Hub{}, 0},
		"API":       {&parley.Hub{API: true}, 2},
		"all parts": {&parley.Hub{API: true, Inbox: &inbox.Inbox{}, Trust: &trust.Registry{}, Audit: log}, len(paths)},
	} {
		s := serve(t, withBuiltin(tt.hub))
		for i, path := range paths {
			code, body := s.call(http.MethodGet, path, "", "")
			if served := code == http.StatusOK; served != (i < tt.want) {
				t.Errorf("%s: %s = %d %s, want it served: %t", name, path, code, body, i < tt.want)
			}
		}
	}
}

// TestAuditOfALibrary checks that operations of callers are written to the audit log.
func TestAuditOfALibrary(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	log, err := audit.Open(audit.Options{Dir: dir, Key: auditKey, Level: audit.Tasks})
	if err != nil {
		t.Fatal(err)
	}
	s := serve(t, withBuiltin(&parley.Hub{Store: new(memstore.Store), Auth: who, Audit: log}))
	made := s.send("/v1/a2a/message:send", "alice", "hello", "")
	s.stop()
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
	var all strings.Builder
	for e, err := range audit.Read(t.Context(), dir, audit.Query{}, 0) {
		if err != nil {
			t.Fatal(err)
		}
		all.Write(e.Raw)
	}
	if text := all.String(); !strings.Contains(text, `"alice"`) || !strings.Contains(text, string(made.ID)) {
		t.Errorf("the log has %s, want the task %s of alice", text, made.ID)
	}
}
