package cli

import (
	"encoding/base64"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/parley-a2a/parley/internal/audit"
	"github.com/parley-a2a/parley/internal/blobstore"
	"github.com/parley-a2a/parley/internal/config"
)

// TestReadsOfPartsAreAudited checks that readers of large parts and of tasks are in the audit
// log at the level reads, and not at the level below.
func TestReadsOfPartsAreAudited(t *testing.T) {
	t.Parallel()
	for _, level := range []audit.Level{audit.Reads, audit.Tasks} {
		cfg, err := config.Parse("parley.yaml", []byte(`
auth: {api_keys: {ann-0123456789abcdef: {agent_id: ann}}}
parts: {threshold: 1000}
audit: {level: `+string(level)+`}
`), func(string) (string, bool) { return "", false })
		if err != nil {
			t.Fatal(err)
		}
		cfg.Listen, cfg.Data, cfg.Bus.URL, cfg.Engine.DrainTimeout = "127.0.0.1:0", t.TempDir(), "off", -1
		hub, stop := running(t, cfg, slog.New(slog.DiscardHandler))
		h := &ruledHub{t: t, url: hub.URL()}
		bytes := strings.Repeat("0123456789", 200)
		_, _, body := h.ask("ann", "POST /v1/a2a/echo/message:send",
			`{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"text":"hi"},{"raw":"`+base64.StdEncoding.EncodeToString([]byte(bytes))+`"}]}}`)
		_, place, _ := strings.Cut(body, blobstore.PathPrefix)
		place, _, _ = strings.Cut(place, `"`)
		id, digest, ok := blobstore.ParsePath(place)
		if !ok {
			t.Fatalf("no part: %s", body)
		}
		if code, _, got := h.ask("ann", "GET "+blobstore.PathPrefix+place, ""); code != 200 || got != bytes {
			t.Fatalf("the part: %d %.100s", code, got)
		}
		if code, _, got := h.ask("ann", "GET "+blobstore.PathPrefix+place, "", "Range: bytes=10-14"); code != 206 || got != "01234" {
			t.Errorf("a range: %d %.100s", code, got)
		}
		if code, _, _ := h.ask("", "GET "+blobstore.PathPrefix+place, ""); code != 401 {
			t.Errorf("a stranger gets %d", code)
		}
		stop()
		var read []audit.Subject
		for e, err := range audit.Read(t.Context(), filepath.Join(cfg.Data, "audit"), audit.Query{}, 0) {
			if err != nil {
				t.Fatal(err)
			}
			if e.Action == audit.PartGet && e.Actor.ID == "ann" && e.Outcome == audit.OK {
				read = append(read, e.Subject)
			}
		}
		one := audit.Subject{Kind: "part", ID: digest.String(), Agent: "echo", Task: string(id)}
		want := map[audit.Level][]audit.Subject{audit.Reads: {one, one}}[level]
		if diff := cmp.Diff(want, read); diff != "" {
			t.Errorf("%s: reads in the audit log (-want +got):\n%s", level, diff)
		}
	}
}
