package treetest

import (
	"fmt"
	"strings"
	"testing"
)

// The threat model names the test of each defence.
func TestSecurity(t *testing.T) {
	t.Parallel()
	tr := load(t)
	report(t, security(tr.read(t, "internal/e2e/threats.md"), testNames(tr.sources)),
		"internal/e2e/threats.md says of each threat by which tests it is known to be defended, and those exist")
}

func TestSecurityRule(t *testing.T) {
	t.Parallel()
	tests := map[string]bool{"TestA": true, "FuzzB": true}
	const head = "| Threat | Defence | Test |\n|---|---|---|\n"
	for text, problems := range map[string]int{
		head + "| a | b | TestA, FuzzB |\n":           0,
		head + "| a | b | TestA, TestGone |\n":        1,
		head + "| a | b | |\n":                        1,
		head + "| a | b | someday |\n":                1,
		"| Word | Meaning |\n|---|---|\n| a | b |\n":  0,
		head + "| a | b | TestA |\n\nSee TestGone.\n": 1,
		"no table": 0,
	} {
		mustFind(t, security(text, tests), problems)
	}
}

// security returns the rows without a test, in tables whose last column is Test, and the names
// of tests that do not exist.
func security(text string, tests map[string]bool) []string {
	var problems []string
	for _, name := range testName.FindAllString(text, -1) {
		if !tests[name] {
			problems = append(problems, fmt.Sprintf("%s does not exist", name))
		}
	}
	proven := false
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		cells := strings.Split(strings.Trim(line, "|"), "|")
		last := strings.TrimSpace(cells[len(cells)-1])
		switch {
		case !strings.HasPrefix(line, "|"):
			proven = false
		case last == "Test":
			proven = true
		case proven && !strings.HasPrefix(last, "---") && !testName.MatchString(last):
			problems = append(problems, fmt.Sprintf("%q names no test", line))
		}
	}
	return problems
}
