package mock

import (
	"flag"
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"
)

var update = flag.Bool("update", false, "write the answers of the transcripts again")

// A transcript is a story: a script, then requests and answers in turn. A request is a
// line with method and path, headers, an empty line and a body. $TIME is a timestamp
// and $ID an id that was made up.
func TestTranscripts(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/transcript/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("no transcripts: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			t.Parallel()
			a, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			got := play(t, a)
			if *update {
				if err := os.WriteFile(file, txtar.Format(got), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			if diff := cmp.Diff(string(txtar.Format(a)), string(txtar.Format(got))); diff != "" {
				t.Errorf("transcript mismatch (-want +got):\n%s", diff)
			}
		})
	}
}

// served returns a server for the script that has no network.
func served(t *testing.T, script string) *Server {
	t.Helper()
	c, err := Parse("mock.yaml", []byte(script))
	if err != nil {
		t.Fatal(err)
	}
	s, err := New(c, Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("Close() = %v", err)
		}
	})
	return s
}

// play sends the requests of a and returns it with the answers that came.
func play(t *testing.T, a *txtar.Archive) *txtar.Archive {
	t.Helper()
	if len(a.Files) == 0 || a.Files[0].Name != "mock.yaml" {
		t.Fatal("the transcript does not begin with mock.yaml")
	}
	s := served(t, string(a.Files[0].Data))
	got := &txtar.Archive{Comment: a.Comment, Files: a.Files[:1:1]}
	for _, f := range a.Files[1:] {
		if f.Name != "request" {
			continue
		}
		got.Files = append(got.Files, f, txtar.File{Name: "response", Data: []byte(exchange(s, string(f.Data)))})
	}
	return got
}

var (
	uuids      = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`)
	timestamps = regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z`)
)

// exchange sends one request and returns the answer as text.
func exchange(s *Server, request string) string {
	head, body, _ := strings.Cut(request, "\n\n")
	lines := strings.Split(strings.TrimSpace(head), "\n")
	method, path, _ := strings.Cut(lines[0], " ")
	r := httptest.NewRequest(method, "http://mock.test"+path, strings.NewReader(strings.TrimSpace(body)))
	r.Header.Set("Content-Type", "application/json")
	for _, l := range lines[1:] {
		name, value, _ := strings.Cut(l, ": ")
		r.Header.Set(name, value)
	}
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	var b strings.Builder
	fmt.Fprintln(&b, w.Code)
	for _, name := range []string{"Allow", "Content-Type", "Retry-After", "WWW-Authenticate"} {
		if v := w.Header().Get(name); v != "" {
			fmt.Fprintf(&b, "%s: %s\n", name, v)
		}
	}
	if w.Body.Len() > 0 {
		fmt.Fprintf(&b, "\n%s\n", strings.TrimSpace(w.Body.String()))
	}
	return uuids.ReplaceAllString(timestamps.ReplaceAllString(b.String(), "$$TIME"), "$$ID")
}
