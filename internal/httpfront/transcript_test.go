package httpfront_test

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

	"github.com/parley-a2a/parley/internal/engine"
	"github.com/parley-a2a/parley/internal/engine/enginetest"
	"github.com/parley-a2a/parley/internal/httpfront"
)

var update = flag.Bool("update", false, "write the answers of the transcripts again")

// A transcript is a story, told in requests and answers in turn. A request is a
// line with method and path, headers, an empty line and a body. What differs from
// run to run has a name: $1, $2 … are ids in the order in which they appear, and
// requests may use them; $TIME is a timestamp, $REF a reference, $TOKEN a page
// token. Only the hub of the transcripts about push sends push notifications.
func TestTranscripts(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/*.txtar")
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
			var cfg engine.Config
			if strings.HasSuffix(file, "-push.txtar") {
				cfg.Push = new(enginetest.Pusher)
			}
			got := play(t, startHub(t, httpfront.Config{Engine: startEngineWith(t, cfg, everyone()...)}), a)
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

// play sends the requests of a and returns it with the answers that came.
func play(t *testing.T, h *hub, a *txtar.Archive) *txtar.Archive {
	t.Helper()
	n := names{ids: map[string]string{}, values: map[string]string{}}
	got := &txtar.Archive{Comment: a.Comment}
	for _, f := range a.Files {
		if f.Name != "request" {
			continue
		}
		head, body, _ := strings.Cut(string(f.Data), "\n\n")
		lines := strings.Split(strings.TrimSpace(head), "\n")
		method, path, _ := strings.Cut(n.insert(lines[0]), " ")
		ans := h.do(method, path, n.insert(strings.TrimSpace(body)), n.insertAll(lines[1:])...)
		got.Files = append(got.Files, f, txtar.File{Name: "response", Data: []byte(n.replace(ans.String()))})
	}
	return got
}

// String writes an answer with the headers that matter.
func (a *answer) String() string {
	var b strings.Builder
	fmt.Fprintln(&b, a.code)
	for _, name := range []string{"Allow", "Cache-Control", "Content-Type", "Retry-After", "WWW-Authenticate"} {
		if v := a.header.Get(name); v != "" {
			fmt.Fprintf(&b, "%s: %s\n", name, v)
		}
	}
	if a.body != "" {
		fmt.Fprintf(&b, "\n%s\n", strings.TrimSuffix(a.body, "\n"))
	}
	return b.String()
}

// names gives what differs from run to run a name.
type names struct {
	ids, values map[string]string
}

var (
	uuids      = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`)
	timestamps = regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z`)
	references = regexp.MustCompile(`"reference":"[0-9a-f]{16}"`)
	tokens     = regexp.MustCompile(`"nextPageToken":"([\w-]+)"`)
	variables  = regexp.MustCompile(`\$(\d+|TOKEN)`)
)

func (n *names) replace(s string) string {
	s = timestamps.ReplaceAllString(s, "$$TIME")
	s = references.ReplaceAllString(s, `"reference":"$$REF"`)
	if m := tokens.FindStringSubmatch(s); m != nil {
		n.values["$TOKEN"] = m[1]
		s = strings.ReplaceAll(s, m[1], "$TOKEN")
	}
	return uuids.ReplaceAllStringFunc(s, func(id string) string {
		name := n.ids[id]
		if name == "" {
			name = fmt.Sprintf("$%d", len(n.ids)+1)
			n.ids[id], n.values[name] = name, id
		}
		return name
	})
}

func (n *names) insert(s string) string {
	return variables.ReplaceAllStringFunc(s, func(name string) string {
		if v := n.values[name]; v != "" {
			return v
		}
		return name
	})
}

func (n *names) insertAll(list []string) []string {
	out := make([]string, len(list))
	for i, s := range list {
		out[i] = n.insert(s)
	}
	return out
}
