package hubtools

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestNames(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("very-long-", 10)
	got := names([]pair{
		{"Research Agent", "search_papers"}, {"--A--", "B..C"}, {"echo", "Echo"}, {"x", "a b"}, {"x", "a-b"}, {"翻訳", "翻訳"}, {"x", "a-b"}, {long, "s"},
	})
	want := map[pair]string{
		{"Research Agent", "search_papers"}: "a2a__research_agent__search_papers",
		{"--A--", "B..C"}:                   "a2a__a__b_c",
		{"echo", "Echo"}:                    "a2a__echo__echo",
	}
	for p, name := range want {
		if got[p] != name {
			t.Errorf("%v is %q, want %q", p, got[p], name)
		}
	}
	if a, b := got[pair{"x", "a b"}], got[pair{"x", "a-b"}]; a == b || !strings.HasPrefix(a, "a2a__x__a_b__") || !strings.HasPrefix(b, "a2a__x__a_b__") {
		t.Errorf("two that would be the same are %q and %q", a, b)
	}
	if n := got[pair{long, "s"}]; len(n) != maxToolName {
		t.Errorf("a long name is %q", n)
	}
	alone := names([]pair{{"x", "a b"}})[pair{"x", "a b"}]
	if alone != "a2a__x__a_b" {
		t.Errorf("alone it is %q", alone)
	}
}

var wellFormed = regexp.MustCompile(`^a2a__[a-z0-9_]{1,59}$`)

// FuzzNames checks that names are well formed, belong to one skill each, and do not depend on
// the order.
func FuzzNames(f *testing.F) {
	f.Add("a", "b", "A", "b ", "a_", "B")
	f.Add("x", "a b", "x", "a-b", "x", "a__b")
	f.Add("", "", "翻訳", "§", strings.Repeat("a", 70), strings.Repeat("b", 70))
	f.Fuzz(func(t *testing.T, a1, s1, a2, s2, a3, s3 string) {
		pairs := []pair{{a1, s1}, {a2, s2}, {a3, s3}}
		got := names(pairs)
		owner := map[string]pair{}
		for p, name := range got {
			if other, taken := owner[name]; taken {
				t.Errorf("%q is %v and %v", name, p, other)
			}
			owner[name] = p
			if !wellFormed.MatchString(name) {
				t.Errorf("%v is %q", p, name)
			}
		}
		slices.Reverse(pairs)
		if diff := cmp.Diff(got, names(pairs), cmp.AllowUnexported(pair{})); diff != "" {
			t.Errorf("another order (-first +second):\n%s", diff)
		}
	})
}
