package suggest

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestNearest(t *testing.T) {
	t.Parallel()
	words := []string{"pr_review", "bug_triage", "security_triage", "sitrep", "board-health", strings.Repeat("long", 100)}
	for word, want := range map[string]string{
		"pr_review":                "pr_review",
		"PR-Review":                "pr_review",
		"pr_reviw":                 "pr_review",
		"bugtriage":                "bug_triage",
		"rp_review":                "pr_review",
		"boardhelth":               "board-health",
		"sitrap":                   "sitrep",
		"weather":                  "",
		"":                         "",
		"x":                        "",
		strings.Repeat("x", 10000): "",
	} {
		if got := Nearest(word, words); got != want {
			t.Errorf("Nearest(%.20q) = %.20q, want %q", word, got, want)
		}
	}
	if got := Nearest("a", nil); got != "" {
		t.Errorf("Nearest among no words = %q", got)
	}
	if got := Nearest("cat", []string{"bat", "hat"}); got != "bat" {
		t.Errorf("of two that are as near, got %q, want the first", got)
	}
}

// The distance of a word to itself is zero, a distance is at most the longer length, and it is
// symmetric.
func TestDistance(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		word := rapid.StringMatching(`[ab]{0,8}`)
		a, b := word.Draw(t, "a"), word.Draw(t, "b")
		ab := Distance(a, b)
		if Distance(a, a) != 0 || ab != Distance(b, a) || ab > max(len(a), len(b)) || ab < max(len(a)-len(b), len(b)-len(a)) {
			t.Fatalf("Distance(%q, %q) = %d", a, b, ab)
		}
	})
}
