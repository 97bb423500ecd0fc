package yamlfile

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

type level string

type script struct {
	FirstWord string         `yaml:"first_word"`
	Turn      int            `yaml:"turn" signed:"yes"`
	Every     time.Duration  `yaml:"every"`
	Level     level          `yaml:"level" enum:"low,high"`
	Levels    []level        `yaml:"levels" each:"low,high"`
	Data      any            `yaml:"data"`
	Free      map[string]any `yaml:"free"`
}

func TestNewScript(t *testing.T) {
	t.Parallel()
	const src = "firstWord: '$$ ${NONE} $x'\nturn: -3\nevery: 1.5s\nlevel: low\nlevels: [high, low]\n" +
		"data: [1.50, 0x10, 12345678901234567890, true, 1.0e3, ~]\nfree: {a: ~, b: {c: '${NONE}'}, <<: {d: 1, a: 2}}\n"
	var got script
	d := NewScript("f.yaml")
	d.Decode([]byte(src), &got)
	want := script{
		FirstWord: "$$ ${NONE} $x", Turn: -3, Every: 1500 * time.Millisecond, Level: "low", Levels: []level{"high", "low"},
		Data: []any{json.Number("1.50"), json.Number("16"), json.Number("12345678901234567890"), true, json.Number("1.0e3"), nil},
		Free: map[string]any{"a": nil, "b": map[string]any{"c": "${NONE}"}, "d": json.Number("1")},
	}
	if diff := cmp.Diff(want, got); diff != "" || d.Problems() != nil {
		t.Errorf("problems %v, mismatch (-want +got):\n%s", d.Problems(), diff)
	}
}

func TestNewScriptProblems(t *testing.T) {
	t.Parallel()
	for src, want := range map[string]string{
		"lev: 1":                      "f.yaml:1: lev: unknown key; did you mean level?",
		"firstword: 1":                "f.yaml:1: firstword: unknown key; did you mean first_word?",
		"fir: 1":                      "f.yaml:1: fir: unknown key; did you mean first_word?",
		"x: 1":                        "f.yaml:1: x: unknown key; possible are first_word, turn, every, level, levels, data, free",
		"firstWord: a\nfirst_word: a": "f.yaml:2: first_word: appears twice",
		"turn: one":                   `f.yaml:1: turn: "one" is not a whole number`,
		"every: -1s":                  `f.yaml:1: every: "-1s" is not a duration like 200ms or 3s, of at most a day`,
		"every: 25h":                  `f.yaml:1: every: "25h" is not a duration like 200ms or 3s, of at most a day`,
		"level: mid":                  `f.yaml:1: level: "mid" is not one of low, high`,
		"levels: [low, mid]":          `f.yaml:1: levels[1]: "mid" is not one of low, high`,
		"data: ~":                     "f.yaml:1: data: must be a value other than null",
		"data: .inf":                  "f.yaml:1: .inf cannot be represented in JSON",
		"free: [1]":                   "f.yaml:1: free: must be a mapping of keys to values, not a list",
		"free: {a: 1,\n a: 2}":        "f.yaml:2: free.a: appears twice",
		"free: {a: !!str b}":          "f.yaml:1: free.a: tags are not used here; put a text that begins with ! in quotes",
		"free: &f {a: *f}":            "f.yaml:1: alias *f refers to itself",
		"data: " + nested(maxDepth):   "",
		"data: " + nested(maxDepth+1): "f.yaml:1: data" + strings.Repeat("[0]", maxDepth) + ": the file is nested too deep",
		"free: {a: {<<: [1]}}":        "f.yaml:1: free.a: << must be followed by an alias",
	} {
		d := NewScript("f.yaml")
		d.Decode([]byte(src), new(script))
		got := ""
		if d.Problems() != nil {
			got = d.Problems().Error()
		}
		if got != want {
			t.Errorf("%.80q: problems %q, want %q", src, got, want)
		}
	}
}

// nested returns n nested lists.
func nested(n int) string { return strings.Repeat("[", n) + strings.Repeat("]", n) }

// A short file whose aliases expand to a large one is refused with one problem.
func TestAliasesAreBounded(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	b.WriteString("free:\n  a: &a [x, x]\n")
	for c := 'b'; c < 'u'; c++ {
		fmt.Fprintf(&b, "  %c: &%c [*%c, *%c]\n", c, c, c-1, c-1)
	}
	d := NewScript("f.yaml")
	d.Decode([]byte(b.String()), new(script))
	if len(d.Problems()) != 1 || d.Problems()[0].Problem != "the file is too large" {
		t.Errorf("problems %v, want that the file is too large", d.Problems())
	}
}
