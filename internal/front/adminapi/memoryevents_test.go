package adminapi_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/parley-a2a/parley/auth"
	"github.com/parley-a2a/parley/internal/adminjson"
	"github.com/parley-a2a/parley/internal/front/adminapi"
	notes "github.com/parley-a2a/parley/internal/memory"
	"github.com/parley-a2a/parley/internal/recorder"
	"github.com/parley-a2a/parley/internal/store/memstore"
)

// noteStream reads notes as they arrive.
type noteStream struct {
	t     *testing.T
	lines *bufio.Scanner
}

// watchNotes opens a stream of the notes that ann may see.
func watchNotes(t *testing.T, h http.Handler, query string) *noteStream {
	t.Helper()
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h.ServeHTTP(w, r.WithContext(auth.WithPrincipal(r.Context(), ann)))
	}))
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	req, err := http.NewRequestWithContext(ctx, "GET", srv.URL+"/api/v1/memory/events"+query, nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := srv.Client().Do(req)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		resp.Body.Close()
		cancel()
		srv.Close()
	})
	if got := resp.Header.Get("Content-Type"); resp.StatusCode != 200 || got != "text/event-stream" {
		t.Fatalf("GET = %d %s", resp.StatusCode, got)
	}
	return &noteStream{t, bufio.NewScanner(resp.Body)}
}

// next returns the next note; its zero value when the stream ends.
func (s *noteStream) next() (n adminjson.Note) {
	s.t.Helper()
	for s.lines.Scan() {
		if data, ok := strings.CutPrefix(s.lines.Text(), "data: "); ok {
			if err := json.Unmarshal([]byte(data), &n); err != nil {
				s.t.Fatalf("event %s: %v", data, err)
			}
			return n
		}
	}
	return n
}

// TestMemoryEvents checks that callers get events of their own notes, as far as they match the
// query, until the hub stops.
func TestMemoryEvents(t *testing.T) {
	t.Parallel()
	h := remembering()
	setNote(t, h, ann, "in/box/1", `{"value":"one","category":"post"}`)
	setNote(t, h, bob, "in/box/1", `{"value":"another's"}`)
	s := watchNotes(t, h, "?prefix=in/&category=po")
	if n := s.next(); n.Key != "in/box/1" || n.Preview != "one" || n.Value != nil || n.Size != 3 {
		t.Errorf("first comes %+v", n)
	}
	setNote(t, h, ann, "out/box/1", `{"value":"elsewhere","category":"post"}`)
	setNote(t, h, ann, "in/box/2", `{"value":"of another kind"}`)
	setNote(t, h, bob, "in/box/3", `{"value":"another's","category":"post"}`)
	setNote(t, h, ann, "in/box/4", `{"value":"four","category":"post"}`)
	if n := s.next(); n.Key != "in/box/4" || n.Category != "post" {
		t.Errorf("then comes %+v", n)
	}
	over, stop := context.WithCancel(t.Context())
	stop()
	h.Memory.Notes.Run(over)
	if n := s.next(); n.Key != "" {
		t.Errorf("after the end comes %+v", n)
	}
	got := as(t, h, ann, "GET /api/v1/memory/events?prefix=../x", "")
	got.failure(t, 400, "INVALID_ARGUMENT", "INVALID_PARAMS")
	got = as(t, h, nil, "GET /api/v1/memory/events", "")
	got.failure(t, 401, "UNAUTHENTICATED", "UNAUTHENTICATED")
}

// stuckWriter is a caller that does not read until it is released.
type stuckWriter struct {
	*httptest.ResponseRecorder
	stuck, release chan struct{}
	once           sync.Once
}

func (w *stuckWriter) Write(b []byte) (int, error) {
	if strings.HasPrefix(string(b), "data:") {
		w.once.Do(func() { close(w.stuck) })
		<-w.release
	}
	return w.ResponseRecorder.Write(b)
}

// TestSlowReaderOfNotes checks that a stalled reader delays neither writers of notes nor other
// readers, and gets all notes when it reads again.
func TestSlowReaderOfNotes(t *testing.T) {
	t.Parallel()
	const most = 3 * notes.MaxList
	n := &notes.Notes{Limits: notes.Limits{Entries: most}}
	h := &adminapi.Handler{Hub: newHub(), Memory: &adminapi.Memory{
		Notes: n, Turns: new(notes.Turns), Sessions: recorder.New(recorder.Config{Notes: n, Store: new(memstore.Store)}),
	}}
	setNote(t, h, ann, "in/box/0", `{"value":"x"}`)
	slow := &stuckWriter{ResponseRecorder: httptest.NewRecorder(), stuck: make(chan struct{}), release: make(chan struct{})}
	var reading sync.WaitGroup
	reading.Go(func() {
		r := httptest.NewRequestWithContext(auth.WithPrincipal(t.Context(), ann), "GET", "/api/v1/memory/events?prefix=in/", nil)
		h.ServeHTTP(slow, r)
	})
	<-slow.stuck
	fast, seen := watchNotes(t, h, "?prefix=in/"), make(map[string]bool)
	for i := range most {
		setNote(t, h, ann, fmt.Sprintf("in/box/%d", i), `{"value":"y"}`)
	}
	for len(seen) < most {
		e := fast.next()
		if e.Key == "" {
			t.Fatalf("the stream ends after %d of %d notes", len(seen), most)
		}
		seen[e.Key] = true
	}
	close(slow.release)
	over, stop := context.WithCancel(t.Context())
	stop()
	n.Run(over)
	reading.Wait()
	events := slow.Body.String()
	for key := range seen {
		if !strings.Contains(events, `"key":"`+key+`","preview":"y"`) {
			t.Fatalf("the slow reader has not seen %s", key)
		}
	}
}
