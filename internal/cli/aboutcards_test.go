package cli

import (
	"encoding/json"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestCardsDescribeTheHub has the keys of the configuration that complete the cards of all agents.
func TestCardsDescribeTheHub(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "parley.yaml")
	const text = `cards:
  provider: {organization: ACME, url: "https://acme.example"}
  documentation_url: https://acme.example/docs
  icon_url: https://acme.example/icon.svg
`
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	c := serveCmd{Config: file, Listen: "127.0.0.1:0", Data: t.TempDir(), Agents: "builtin", Bus: "off"}
	cfg, err := c.settings()
	if err != nil {
		t.Fatal(err)
	}
	h, _ := running(t, cfg, slog.New(slog.DiscardHandler))
	type about struct {
		Provider                  struct{ Organization, URL string }
		DocumentationURL, IconURL string
	}
	want := about{DocumentationURL: "https://acme.example/docs", IconURL: "https://acme.example/icon.svg"}
	want.Provider.Organization, want.Provider.URL = "ACME", "https://acme.example"
	for _, path := range []string{"/.well-known/agent-card.json", "/.well-known/agent.json", "/a2a/clock/.well-known/agent-card.json"} {
		q := httpQuery{web: http.DefaultClient, at: h.URL(), what: "GET " + path}
		resp, body := q.answered(t)
		var got about
		if err := json.Unmarshal([]byte(body), &got); err != nil || resp.StatusCode != http.StatusOK {
			t.Fatalf("%s: %s, %v", path, resp.Status, err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", path, diff)
		}
	}
}
