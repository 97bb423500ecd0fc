package cli

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"
)

var update = flag.Bool("update", false, "write the answers of the transcripts again")

// What the kits force on a server is written as transcripts: a story, then requests and
// answers in turn. A request is a line with method and path, headers, an empty line and
// a body; it has A2A-Version 1.0 unless it says otherwise. $1, $2 … are the ids of the
// hub in the order in which they appear, $TIME is a timestamp, $URL the address of the
// hub. In files whose names end in -off the hub has no streams and no webhooks.
func TestProfileTranscripts(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/profile/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("no transcripts: %v", err)
	}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".txtar")
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			want, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			off := strings.HasSuffix(name, "-off")
			got := startProfile(t, serveCmd{NoStreaming: off, NoPush: off}).play(want)
			if *update {
				if err := os.WriteFile(file, txtar.Format(got), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			if diff := cmp.Diff(string(txtar.Format(want)), string(txtar.Format(got))); diff != "" {
				t.Errorf("transcript mismatch (-want +got):\n%s", diff)
			}
		})
	}
}

// play sends the requests of a and returns it with the answers that came.
func (p *profiled) play(a *txtar.Archive) *txtar.Archive {
	p.t.Helper()
	n := idNames{url: p.url, names: map[string]string{}}
	got := &txtar.Archive{Comment: a.Comment}
	for _, f := range a.Files {
		if f.Name != "request" {
			continue
		}
		head, body, _ := strings.Cut(string(f.Data), "\n\n")
		lines := strings.Split(strings.TrimSpace(head), "\n")
		method, path, _ := strings.Cut(n.insert(lines[0]), " ")
		resp, answer := p.do(method, path, n.insert(strings.TrimSpace(body)), lines[1:]...)
		text := fmt.Sprintf("%d\nContent-Type: %s\n\n%s\n", resp.StatusCode, resp.Header.Get("Content-Type"), strings.TrimSpace(answer))
		got.Files = append(got.Files, f, txtar.File{Name: "response", Data: []byte(n.replace(text))})
	}
	return got
}

// idNames gives what differs from run to run a name.
type idNames struct {
	url   string
	ids   []string
	names map[string]string
}

var (
	hubIDs = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`)
	times  = regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z`)
)

func (n *idNames) replace(s string) string {
	s = times.ReplaceAllString(strings.ReplaceAll(s, n.url, "$URL"), "$$TIME")
	return hubIDs.ReplaceAllStringFunc(s, func(id string) string {
		if n.names[id] == "" {
			n.ids = append(n.ids, id)
			n.names[id] = fmt.Sprintf("$%d", len(n.ids))
		}
		return n.names[id]
	})
}

func (n *idNames) insert(s string) string {
	for i := len(n.ids) - 1; i >= 0; i-- { // $12 before $1
		s = strings.ReplaceAll(s, fmt.Sprintf("$%d", i+1), n.ids[i])
	}
	return s
}
