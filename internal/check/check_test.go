package check

import (
	"strings"
	"testing"
	"testing/synctest"
)

func TestRightServerPasses(t *testing.T) {
	t.Parallel()
	for name, o := range map[string]features{
		"everything": everything,
		"nothing":    {},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				r := checked(t, o)
				for _, result := range r.Results {
					if result.Outcome == Fail {
						t.Errorf("%s %s: %s\n%s", result.Interface, result.ID, result.Detail, strings.Join(result.Evidence, "\n"))
					}
				}
				if !r.OK() {
					t.Error("the report is not OK")
				}
			})
		})
	}
}

// TestEverythingIsJudged: each requirement passes on at least one correct server, so that none
// is always "not offered".
func TestEverythingIsJudged(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		passed := map[string]bool{}
		for _, o := range []features{everything, {}} {
			for _, result := range checked(t, o).Results {
				if result.Outcome == Pass {
					passed[result.ID] = true
				}
			}
		}
		for _, q := range Requirements() {
			if !passed[q.ID] {
				t.Errorf("%s is not passed by any right server", q.ID)
			}
		}
	})
}

func TestRequirementsAreNamed(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, q := range Requirements() {
		if seen[q.ID] || !strings.Contains(q.ID, ".") {
			t.Errorf("%q is no name, or not the only one", q.ID)
		}
		seen[q.ID] = true
		if q.Text == "" || !strings.HasSuffix(q.Text, ".") || !strings.Contains(q.Section, "§") || q.Level == "" {
			t.Errorf("%+v lacks something", q)
		}
	}
	for id := range programs {
		if !seen[id] {
			t.Errorf("there is a function for %s, which no document has", id)
		}
	}
}
