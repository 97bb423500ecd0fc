package treetest

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
)

// strangerRow matches a row of the table of strangers: its id and its tests.
var strangerRow = regexp.MustCompile(`^\| ([A-Z]\d+b?) \|.*\| ([^|]+) \|$`)

func TestStrangers(t *testing.T) {
	t.Parallel()
	tr := load(t)
	report(t, judged(tr.read(t, "internal/e2e/strangers/table.md"), testNames(tr.sources)),
		"each row of internal/e2e/strangers/table.md is proven by tests that exist")
}

func TestStrangersRule(t *testing.T) {
	t.Parallel()
	for row, want := range map[string]int{
		"| A1 | peer | x | y | `TestA`, `TestA/part` |": 0,
		"| A1 | peer | x | y | `TestGone` |":            1,
		"| A1 | peer | x | y | works |":                 1,
		"no row":                                        1,
	} {
		if got := judged(row, map[string]bool{"TestA": true}); len(got) != want {
			t.Errorf("%s: found %q, want %d problems", row, got, want)
		}
	}
}

func judged(text string, tests map[string]bool) []string {
	var problems []string
	rows := 0
	for line := range strings.Lines(text) {
		m := strangerRow.FindStringSubmatch(strings.TrimSpace(line))
		if m == nil {
			continue
		}
		rows++
		if !statementTest.MatchString(m[2]) {
			problems = append(problems, fmt.Sprintf("row %s: %q is no list of tests", m[1], m[2]))
		}
		for _, name := range testName.FindAllString(m[2], -1) {
			if !tests[name] && !strings.Contains(m[2], "/"+name) {
				problems = append(problems, fmt.Sprintf("row %s: there is no test %s", m[1], name))
			}
		}
	}
	if rows == 0 {
		problems = append(problems, "there are no rows")
	}
	return problems
}
