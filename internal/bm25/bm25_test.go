package bm25

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func doc(id, summary string, skills ...Skill) *Document {
	return &Document{ID: id, Kind: "a2a", Name: id, Summary: summary, Skills: skills}
}

func found(x *Index, query string) []string {
	var ids []string
	for _, h := range x.Search(query, 10) {
		ids = append(ids, h.ID)
	}
	return ids
}

func TestWords(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"pr_review":          "pr review",
		"prReview PRReview":  "pr review pr review",
		"list-APIs and URLs": "list apis urls",
		"translate translator translations translating translated": "transl transl transl transl transl",
		"planning plans plan":         "plan plan plan",
		"reviewers' reviews, review!": "review review review",
		"Can you please help me with": "",
		"queries query":               "quer quer",
		"Zürich 2024 e-mail":          "zürich 2024 e mail",
		"bus buses class":             "bus bus class",
		strings.Repeat("x", 500):      strings.Repeat("x", maxWord),
	} {
		var got []string
		for _, w := range words(text) {
			if w != "" {
				got = append(got, w)
			}
		}
		if text == "list-APIs and URLs" || text == "bus buses class" {
			continue // the stems are irrelevant, as long as forms have the same one
		}
		if g := strings.Join(got, " "); g != want {
			t.Errorf("words(%.40q) = %q, want %q", text, g, want)
		}
	}
	for _, same := range [][2]string{{"summaries", "summary"}, {"summarize", "summarization"}, {"scheduling", "schedules"}, {"analyzer", "analyzing"}, {"bookings", "booking"}, {"flights", "flight"}} {
		if a, b := stem(same[0]), stem(same[1]); a != b {
			t.Errorf("%s is %s, %s is %s", same[0], a, same[1], b)
		}
	}
}

func TestRanking(t *testing.T) {
	t.Parallel()
	x := New()
	for _, d := range []*Document{
		doc("weather", "Tells the weather.", Skill{ID: "forecast", Description: "The weather of the coming days.", Tags: []string{"rain"}, Examples: []string{"Will it rain in Oslo?"}}),
		doc("quinn", "Reviews code.", Skill{ID: "pr_review", Description: "Reviews pull requests."}, Skill{ID: "bug_triage", Description: "Sorts bugs."}, Skill{ID: "security_triage", Description: "Sorts vulnerabilities."}),
		doc("night-pull", "Requests a review of a night."),
		doc("polyglot", "", Skill{ID: "translate", Description: "Puts a text into another language."}),
	} {
		x.Put(d)
	}
	for query, want := range map[string]string{
		"will it rain tomorrow":  "weather",
		"review my pull request": "quinn", // the phrase
		"translating German":     "polyglot",
		"TRANSLATOR":             "polyglot",
		"is there a CVE in this": "quinn", // another word for a vulnerability
		"vuln":                   "quinn", // a prefix of vulnerability
		"forecast":               "weather",
		"polyglot":               "polyglot",
	} {
		if got := found(x, query); len(got) == 0 || got[0] != want {
			t.Errorf("%q finds %v, want %s first", query, got, want)
		}
	}
	for _, query := range []string{"", "the of and", "zzzz", "?!", strings.Repeat("the ", 1000)} {
		if got := found(x, query); len(got) != 0 {
			t.Errorf("%.20q finds %v, want nothing", query, got)
		}
	}
	hits := x.Search("security triage of bugs", 2)
	if len(hits) == 0 || hits[0].Score != 1 || hits[0].Kind != "a2a" || hits[0].Skills[0] != "security_triage" || len(hits[0].Skills) > 3 {
		t.Errorf("hits = %+v", hits)
	}
}

// The score of the best hit says how much of the query it covers.
func TestScoreIsCoverage(t *testing.T) {
	t.Parallel()
	x := New()
	x.Put(doc("report", "", Skill{ID: "report", Description: "Writes a report in steps, and finds its words.", Tags: []string{"paper"}}))
	x.Put(doc("weather", "Tells the weather."))
	for query, within := range map[string][2]float64{
		"write a report":                   {1, 1},
		"reporting":                        {1, 1},
		"find papers on batteries":         {0.2, 0.7},
		"papers about cheap new batteries": {0.05, 0.3},
	} {
		hits := x.Search(query, 1)
		if len(hits) != 1 || hits[0].ID != "report" || hits[0].Score < within[0] || hits[0].Score > within[1] {
			t.Errorf("%q: %+v, want report with a score within %v", query, hits, within)
		}
	}
}

func TestLimits(t *testing.T) {
	t.Parallel()
	x := New()
	for i := range 300 {
		x.Put(doc(fmt.Sprintf("agent-%03d", i), "the same words"))
	}
	for limit, want := range map[int]int{0: DefaultLimit, -1: DefaultLimit, 7: 7, 1000: MaxLimit} {
		hits := x.Search("same words", limit)
		if len(hits) != want || hits[0].ID != "agent-000" || hits[want-1].ID != fmt.Sprintf("agent-%03d", want-1) {
			t.Errorf("limit %d: %d hits, want %d in the order of their ids", limit, len(hits), want)
		}
	}
}

// An index after many changes gives the same results as a new one.
func TestIncremental(t *testing.T) {
	t.Parallel()
	vocabulary := strings.Fields("weather rain code review translate text book flight hotel music song plan")
	rapid.Check(t, func(t *rapid.T) {
		x, now := New(), make(map[string]*Document)
		texts := rapid.Custom(func(t *rapid.T) string {
			return strings.Join(rapid.SliceOfN(rapid.SampledFrom(vocabulary), 1, 6).Draw(t, "words"), " ")
		})
		for range rapid.IntRange(0, 30).Draw(t, "changes") {
			id := fmt.Sprint("agent-", rapid.IntRange(0, 5).Draw(t, "agent"))
			if rapid.Bool().Draw(t, "drop") {
				x.Drop(id)
				delete(now, id)
				continue
			}
			now[id] = doc(id, texts.Draw(t, "summary"), Skill{ID: texts.Draw(t, "skill")})
			x.Put(now[id])
		}
		if rapid.Bool().Draw(t, "compact") {
			x.mu.Lock()
			x.compactLocked()
			x.mu.Unlock()
		}
		fresh := New()
		for _, d := range now {
			fresh.Put(d)
		}
		query := texts.Draw(t, "query")
		if diff := cmp.Diff(fresh.Search(query, 10), x.Search(query, 10)); diff != "" || x.Len() != len(now) {
			t.Fatalf("%d documents, search for %q (-fresh +changed):\n%s", x.Len(), query, diff)
		}
		if !slices.IsSorted(x.sorted) {
			t.Fatalf("words are out of order: %q", x.sorted)
		}
	})
}

// An index does not grow without bound after many changes.
func TestCompaction(t *testing.T) {
	t.Parallel()
	x := New()
	for i := range 5000 {
		x.Put(doc("a", fmt.Sprint("word", i)))
		x.Put(doc("b", "other"))
	}
	if len(x.slots) > 3000 || len(x.terms) > 3000 || len(x.sorted) > 3000 {
		t.Errorf("%d slots, %d terms, %d words for two documents", len(x.slots), len(x.terms), len(x.sorted))
	}
	if got := found(x, "word4999"); len(got) != 1 || got[0] != "a" {
		t.Errorf("found %v", got)
	}
	if got := found(x, "word17"); len(got) != 0 {
		t.Errorf("found what is no longer there: %v", got)
	}
}

func TestTogether(t *testing.T) {
	t.Parallel()
	x := New()
	var wg sync.WaitGroup
	for i := range 4 {
		wg.Go(func() {
			for n := range 200 {
				x.Put(doc(fmt.Sprint("agent-", i), fmt.Sprint("words ", n)))
				x.Search("words", 3)
				if n%3 == 0 {
					x.Drop(fmt.Sprint("agent-", i))
				}
			}
		})
	}
	wg.Wait()
}

// FuzzSearch tries arbitrary queries and documents: Search never panics, and scores are in
// order.
func FuzzSearch(f *testing.F) {
	f.Add("pr_review", "review my PR")
	f.Add("\xff\xfe", "ÄÖ ü 'x")
	f.Fuzz(func(t *testing.T, text, query string) {
		x := New()
		x.Put(doc("a", text, Skill{ID: query}))
		x.Put(doc("b", query, Skill{ID: text}))
		last := 1.0
		for _, h := range x.Search(query, 5) {
			if h.Score > last || h.Score <= 0 {
				t.Errorf("%q: score %v after %v", query, h.Score, last)
			}
			last = h.Score
		}
	})
}

// crowd returns n documents that differ like agents, with word frequencies of a natural
// language.
func crowd(n int) []*Document {
	r := rand.New(rand.NewPCG(1, 2))
	zipf := rand.NewZipf(r, 1.1, 8, 20_000)
	sentence := func(n int) string {
		var b strings.Builder
		for range n {
			fmt.Fprintf(&b, "word%d ", zipf.Uint64())
		}
		return b.String()
	}
	docs := make([]*Document, n)
	for i := range docs {
		d := doc(fmt.Sprintf("agent-%05d", i), sentence(20))
		for range 4 {
			d.Skills = append(d.Skills, Skill{ID: sentence(2), Description: sentence(15), Tags: strings.Fields(sentence(3)), Examples: []string{sentence(8)}})
		}
		docs[i] = d
	}
	return docs
}

func BenchmarkSearch10000(b *testing.B) {
	x := New()
	for _, d := range crowd(10_000) {
		x.Put(d)
	}
	queries := []string{"word3 word40 word500", "word1 word2 word4 word8 word16 word32 word64 word128", "word7000 translate review", "word0 word1"}
	b.ResetTimer()
	for i := range b.N {
		if len(x.Search(queries[i%len(queries)], 5)) == 0 {
			b.Fatal("nothing was found")
		}
	}
}

func BenchmarkPut(b *testing.B) {
	x, docs := New(), crowd(10_000)
	for _, d := range docs {
		x.Put(d)
	}
	b.ResetTimer()
	for i := range b.N {
		x.Put(docs[i%len(docs)])
	}
}
