package cli

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/parley-a2a/parley/internal/config"
	"github.com/parley-a2a/parley/internal/server"
)

// running runs a hub until the test ends or stop is called.
func running(t *testing.T, cfg *config.Config, log *slog.Logger) (h *server.Hub, stop func()) {
	t.Helper()
	h, err := server.Open(t.Context(), server.Options{Config: cfg, Logger: log})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- h.Run(ctx) }()
	stop = sync.OnceFunc(func() {
		http.DefaultClient.CloseIdleConnections()
		cancel()
		if err := errors.Join(<-done, h.Close()); err != nil && !errors.Is(err, context.Canceled) {
			t.Errorf("hub: %v", err)
		}
	})
	t.Cleanup(stop)
	return h, stop
}

// httpQuery is an HTTP request of a test.
type httpQuery struct {
	// web is http.DefaultClient if nil.
	web *http.Client
	// at is the address of the server.
	at string
	// what names a method and a path, such as "POST /path".
	what, body string
	// header are lines like "Name: value".
	header []string
}

// ask sends the request; the caller closes the body of the answer.
func (q *httpQuery) ask(ctx context.Context) (*http.Response, error) {
	method, path, _ := strings.Cut(q.what, " ")
	r, err := http.NewRequestWithContext(ctx, method, q.at+path, strings.NewReader(q.body))
	if err != nil {
		return nil, err
	}
	if q.body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	for _, line := range q.header {
		name, value, _ := strings.Cut(line, ":")
		r.Header.Set(name, strings.TrimSpace(value))
	}
	if q.web == nil {
		return http.DefaultClient.Do(r)
	}
	return q.web.Do(r)
}

// answered sends the request, and returns the answer and its body.
func (q *httpQuery) answered(t *testing.T) (*http.Response, string) {
	t.Helper()
	resp, err := q.ask(t.Context())
	if err != nil {
		t.Fatalf("%s: %v", q.what, err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatalf("%s: %v", q.what, err)
	}
	return resp, string(b)
}
