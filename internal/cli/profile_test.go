package cli

import (
	"io"
	"log/slog"
	"net/http"
	"strings"
	"testing"
)

// profiled is a hub for conformance kits.
type profiled struct {
	t    *testing.T
	url  string
	grpc string
}

// startProfile serves the conformance agent until the test ends.
func startProfile(t *testing.T, c serveCmd) *profiled {
	t.Helper()
	c.Agents, c.Listen, c.GRPCListen, c.Data = profileName, "127.0.0.1:0", "127.0.0.1:0", t.TempDir()
	cfg, err := c.settings()
	if err != nil {
		t.Fatal(err)
	}
	cfg.Engine.DrainTimeout = -1 // tasks are left open
	h, _ := running(t, cfg, slog.New(slog.DiscardHandler))
	return &profiled{t: t, url: h.URL(), grpc: h.About().GRPC}
}

// open sends a request of a kit; the caller closes the body of the answer.
func (p *profiled) open(method, path, body string, headers ...string) *http.Response {
	p.t.Helper()
	r, err := http.NewRequestWithContext(p.t.Context(), method, p.url+path, strings.NewReader(body))
	if err != nil {
		p.t.Fatal(err)
	}
	r.Header.Set("A2A-Version", "1.0")
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	for _, h := range headers {
		name, value, _ := strings.Cut(h, ":")
		r.Header.Set(name, strings.TrimSpace(value))
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		p.t.Fatalf("%s %s: %v", method, path, err)
	}
	return resp
}

// do is open, but reads the body.
func (p *profiled) do(method, path, body string, headers ...string) (*http.Response, string) {
	p.t.Helper()
	resp := p.open(method, path, body, headers...)
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		p.t.Fatalf("%s %s: %v", method, path, err)
	}
	return resp, string(b)
}
