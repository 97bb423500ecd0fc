package cli

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/parley-a2a/parley"
	"github.com/parley-a2a/parley/internal/agents/builtin"
)

// cutter breaks the connection of a stream after its second event, for a given number of
// streams. It records the event ids with which streams are requested.
type cutter struct {
	next http.Handler

	mu   sync.Mutex // guards the fields below
	cuts int
	ids  []string
}

// ServeHTTP implements http.Handler.
func (c *cutter) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Header.Get("Accept") != "text/event-stream" {
		c.next.ServeHTTP(w, r)
		return
	}
	c.mu.Lock()
	cut := c.cuts > 0
	c.cuts--
	c.ids = append(c.ids, r.Header.Get("Last-Event-ID"))
	c.mu.Unlock()
	if !cut {
		c.next.ServeHTTP(w, r)
		return
	}
	c.next.ServeHTTP(&cutWriter{ResponseWriter: w, left: 2}, r)
}

// cutWriter ends the connection after left events were written.
type cutWriter struct {
	http.ResponseWriter
	left int
}

// Write implements http.ResponseWriter.
func (w *cutWriter) Write(b []byte) (int, error) {
	// One write may contain several events.
	for rest := b; ; {
		_, after, ok := strings.Cut(string(rest), "\n\n")
		if !ok {
			return w.ResponseWriter.Write(b)
		}
		rest = []byte(after)
		if w.left--; w.left == 0 {
			w.ResponseWriter.Write(b[:len(b)-len(rest)])
			http.NewResponseController(w.ResponseWriter).Flush()
			panic(http.ErrAbortHandler)
		}
	}
}

// Unwrap returns the wrapped writer, for http.ResponseController.
func (w *cutWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// startCutter serves a hub with the built-in agents behind a cutter.
func startCutter(t *testing.T, cuts int) (*cutter, string) {
	t.Helper()
	hub := new(parley.Hub)
	for _, a := range builtin.Agents() {
		hub.Handle(a.Card, a.Executor)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	wg.Go(func() {
		if err := hub.Run(ctx); err != nil {
			t.Errorf("the hub ended with %v", err)
		}
	})
	c := &cutter{next: hub.Handler(), cuts: cuts}
	srv := httptest.NewServer(c)
	t.Cleanup(func() {
		cancel()
		wg.Wait()
		srv.Close()
	})
	return c, srv.URL
}

// TestResume checks that a broken stream of a hub continues after the last received event, so
// that no event is repeated or missing.
func TestResume(t *testing.T) {
	t.Parallel()
	c, url := startCutter(t, 3)
	code, out, errs := invoke(t, OS{}, "send", "--url", url, "--stream", "--json", "one two three four five six")
	if code != exitOK {
		t.Fatalf("send = %d, %q", code, errs)
	}
	var tasks int
	var text strings.Builder
	for line := range strings.Lines(out) {
		var frame struct {
			Task           *struct{ ID string }
			ArtifactUpdate *struct {
				Artifact struct{ Parts []struct{ Text string } }
			}
		}
		if err := json.Unmarshal([]byte(line), &frame); err != nil {
			t.Fatalf("send --json prints %q: %v", line, err)
		}
		if frame.Task != nil {
			tasks++
		}
		if u := frame.ArtifactUpdate; u != nil {
			text.WriteString(u.Artifact.Parts[0].Text)
		}
	}
	if tasks != 1 || text.String() != "one two three four five six" {
		t.Errorf("the stream has %d tasks and says %q, want the task once and every word once", tasks, text.String())
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if diff := cmp.Diff([]string{"", "2", "4", "6"}, c.ids); diff != "" {
		t.Errorf("Last-Event-ID of the requests (-want +got):\n%s", diff)
	}
}
