package main

import (
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/parley-a2a/parley/cmd/bench/internal/layers"
	"github.com/parley-a2a/parley/cmd/bench/internal/rows"
)

// markedPage returns a page with all sections.
func markedPage() string {
	text := "# Page\n"
	for _, s := range sections {
		text += opening(s.name) + "old\n" + closingMark + "between\n"
	}
	return text
}

func TestRewrite(t *testing.T) {
	t.Parallel()
	r := story()
	r.Commit, r.Load = "abc123", []string{"closed loop"}
	r.Budgets = []rows.Budget{
		{Name: "send", Measured: 10_000, Layers: []layers.Share{{Layer: "engine", CPU: 6_000}, {Layer: "store: fsync", CPU: 3_500}}},
		{Name: "chunk", Measured: 1_000, Layers: []layers.Share{{Layer: "JSON", CPU: 1_000}}},
	}
	got, err := r.rewrite(markedPage())
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"One run at commit abc123",
		"| blocking |  | bare | 50000 sends/s | 2.1 % | 1ms | 12.3ms | 21.6µs | – |\n",
		"Not measured: blocking of js-sdk (there is no node on this machine).",
		"Error: lookup: a wrong answer",
		"| recovery: milliseconds from exec to ready (ready: 1) | at most 2000 | 2001 | **missed** |\n",
		"| engine | 6.00 (63 %) | – |\n",
		"| **all layers** | **9.50** | **1.00** |\n",
		"| layers ÷ measured | 95 % | 100 % |\n",
		"between\n",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("the page has no %q:\n%s", want, got)
		}
	}
	if strings.Contains(got, "old\n") {
		t.Errorf("an old section remains:\n%s", got)
	}
	if again, err := r.rewrite(got); err != nil || again != got {
		t.Errorf("to rewrite the page again changes it (%v):\n%s", err, again)
	}
}

func TestRewriteRefuses(t *testing.T) {
	t.Parallel()
	r := story()
	r.Load = []string{"closed loop"}
	whole := markedPage()
	for name, page := range map[string]string{
		"no marks":        "# Page\n",
		"a missing end":   strings.Replace(whole, closingMark, "", 1),
		"a missing begin": strings.Replace(whole, opening("goals"), "", 1),
		"a mark twice":    whole + opening("goals") + closingMark,
		"another order":   strings.NewReplacer("bench: goals", "bench: results", "bench: results", "bench: goals").Replace(whole),
	} {
		if _, err := r.rewrite(page); !errors.Is(err, errMarkers) {
			t.Errorf("%s: %v, want %v", name, err, errMarkers)
		}
	}
}

// The page in the tree has all marks, and shows the result beside it. The manual takes its figures from the same run.
func TestPageOfTree(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("RESULTS.md")
	if err != nil {
		t.Fatal(err)
	}
	r := story()
	r.Load = []string{"closed loop"}
	if _, err := r.rewrite(string(page)); err != nil {
		t.Errorf("RESULTS.md: %v", err)
	}
	r, err = readReport("results/result.json")
	if errors.Is(err, os.ErrNotExist) {
		t.Log("there is not a result beside the page")
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	manual, err := os.ReadFile("../../docs/performance.md")
	if err != nil || !strings.Contains(string(manual), "commit "+r.Commit) {
		t.Errorf("docs/performance.md (%v) does not name commit %s; take its figures from RESULTS.md", err, r.Commit)
	}
	r.Goals = goals(r.Results)
	if text, err := r.rewrite(string(page)); err != nil || text != string(page) {
		t.Errorf("RESULTS.md does not show results/result.json (%v); run go run . --publish . --from results/result.json", err)
	}
}

// A published run leaves the page, its result and the flame graphs.
func TestPublish(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.WriteFile(dir+"/RESULTS.md", []byte(markedPage()), 0o600); err != nil {
		t.Fatal(err)
	}
	runBench(t, "-only", "blocking", "-servers", "bare,parley-sqlite", "-publish", dir)
	page, err := os.ReadFile(dir + "/RESULTS.md")
	if err != nil || !strings.Contains(string(page), "| blocking |  | parley-sqlite |") {
		t.Errorf("page %v:\n%s", err, page)
	}
	for _, name := range []string{"result.json", "curves.html", "blocking-sqlite.svg", "blocking-memory.svg", "stream-sqlite.svg", "lookup-sqlite.svg"} {
		if info, err := os.Stat(dir + "/results/" + name); err != nil || info.Size() == 0 || info.Size() > 150<<10 {
			t.Errorf("%s: %v, %v", name, info, err)
		}
	}
}

// A result gives the page again, with its curves as drawings.
func TestPublishAgain(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	r := story()
	r.Load = []string{"closed loop"}
	r.Results = append(r.Results, rows.Result{Row: "curves", Case: rows.CurveThroughput, Server: "bare", Points: []rows.Point{{X: 1, Y: 10}, {X: 64, Y: 900}}})
	if err := os.WriteFile(dir+"/RESULTS.md", []byte(markedPage()), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := r.save(dir + "/results/result.json"); err != nil {
		t.Fatal(err)
	}
	var out, log strings.Builder
	args := []string{"-publish", dir, "-from", dir + "/results/result.json"}
	// The code is 1, because the result states an error.
	if code := benchMain(t.Context(), args, &out, &log); code != 1 {
		t.Errorf("bench %v = %d\n%s", args, code, log.String())
	}
	page, err := os.ReadFile(dir + "/RESULTS.md")
	if err != nil || !strings.Contains(string(page), "![Throughput](results/throughput.svg)") || !strings.Contains(string(page), "**missed**") {
		t.Errorf("page %v:\n%s", err, page)
	}
	if text, err := os.ReadFile(dir + "/results/throughput.svg"); err != nil || !strings.Contains(string(text), "<polyline") {
		t.Errorf("drawing %v:\n%s", err, text)
	}
}
