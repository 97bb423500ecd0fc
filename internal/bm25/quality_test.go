package bm25

import (
	"bufio"
	"os"
	"slices"
	"strings"
	"testing"
)

// lines calls f for each line of a file that is not empty or a comment.
func lines(t *testing.T, path string, f func(line string)) {
	t.Helper()
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	s := bufio.NewScanner(file)
	for s.Scan() {
		if line := strings.TrimSpace(s.Text()); line != "" && !strings.HasPrefix(line, "#") {
			f(line)
		}
	}
	if err := s.Err(); err != nil {
		t.Fatal(err)
	}
}

// cards reads the cards of testdata.
func cards(t *testing.T) []*Document {
	t.Helper()
	var all []*Document
	lines(t, "testdata/cards.txt", func(line string) {
		rest := strings.TrimSpace(line[1:])
		switch line[0] {
		case '@':
			name, source, ok := strings.Cut(rest, " | ")
			if !ok || source == "" {
				t.Fatalf("%q does not say where it is from", line)
			}
			all = append(all, doc(name, ""))
		case '>':
			all[len(all)-1].Summary = rest
		case '-':
			d := all[len(all)-1]
			d.Skills = append(d.Skills, skillOf(rest))
		default:
			t.Fatalf("unknown line %q", line)
		}
	})
	return all
}

// skillOf parses "id: description #tag ?example".
func skillOf(line string) Skill {
	id, rest, _ := strings.Cut(line, ": ")
	s := Skill{ID: id}
	parts := strings.FieldsFunc(strings.NewReplacer(" #", "\x00#", " ?", "\x00?").Replace(rest), func(r rune) bool { return r == 0 })
	for _, p := range parts {
		switch p[0] {
		case '#':
			s.Tags = append(s.Tags, p[1:])
		case '?':
			s.Examples = append(s.Examples, p[1:])
		default:
			s.Description = p
		}
	}
	return s
}

// half is one half of the queries: those used for tuning, or the held-out ones.
type half struct {
	name             string
	all, first, top3 int
	missed           []string
}

// judge counts the result of a query.
func (h *half) judge(line, want string, ids []string) {
	h.all++
	if len(ids) > 0 && ids[0] == want {
		h.first++
	}
	ids = ids[:min(len(ids), 3)]
	if slices.Contains(ids, want) {
		h.top3++
		return
	}
	h.missed = append(h.missed, line+" → "+strings.Join(ids, ", "))
}

func (h *half) share(n int) float64 { return float64(n) / float64(h.all) }

// TestQuality checks the quality of the search: at least nine of ten held-out queries find the
// right agent among the first three hits.
func TestQuality(t *testing.T) {
	t.Parallel()
	x, known := New(), make(map[string]bool)
	for _, d := range cards(t) {
		x.Put(d)
		known[d.ID] = true
	}
	halves := [2]*half{{name: "tuned"}, {name: "held out"}}
	for i, path := range []string{"testdata/queries.txt", "testdata/heldout.txt"} {
		lines(t, path, func(line string) {
			want, query, ok := strings.Cut(line, ": ")
			if !ok || !known[want] {
				t.Fatalf("query %q is for nobody", line)
			}
			halves[i].judge(line, want, found(x, query))
		})
	}
	for _, h := range halves {
		t.Logf("%s: %d queries, right agent first %.0f %%, among the first three %.0f %%", h.name, h.all, 100*h.share(h.first), 100*h.share(h.top3))
		if h.share(h.top3) < 0.9 || h.all < 30 {
			t.Errorf("%s: %d of %d queries find the right agent among the first three, want nine in ten of at least 30; missed:\n%s",
				h.name, h.top3, h.all, strings.Join(h.missed, "\n"))
		}
	}
	if testing.Verbose() {
		t.Logf("missed while tuning:\n%s", strings.Join(halves[0].missed, "\n"))
	}
}
