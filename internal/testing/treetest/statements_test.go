package treetest

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
)

// statementIDs are the prefixes of the rows of statements.md, with the number of rows of each.
var statementIDs = []struct {
	prefix string
	rows   int
}{{"A", 24}, {"AW", 40}, {"B", 40}, {"C", 28}, {"PK", 26}}

var (
	statementRow  = regexp.MustCompile(`^\| *([A-Z]+\d+) *\| *(.+?) *\| *([\d, ]*?) *\| *(.+?) *\|$`)
	statementTest = regexp.MustCompile("^(Go library: )?`(Test|Fuzz|Example)\\w+(/[^`]+)?`(, `(Test|Fuzz|Example)\\w+(/[^`]+)?`)*$")
)

func TestStatements(t *testing.T) {
	t.Parallel()
	tr := load(t)
	report(t, statements(tr.read(t, "internal/parts/statements.md"), testNames(tr.sources)),
		"internal/parts/statements.md has one row for each statement, each open or proven by tests that exist")
}

func TestStatementsRule(t *testing.T) {
	t.Parallel()
	var rows []string
	for _, s := range statementIDs {
		for n := 1; n <= s.rows; n++ {
			rows = append(rows, fmt.Sprintf("| %s%d | sentence | 1, 2 | open |", s.prefix, n))
		}
	}
	tests := []struct {
		name, row string
		want      int
	}{
		{"open", rows[0], 0},
		{"proven", "| A1 | sentence | 3 | `TestA`, `TestA/part` |", 0},
		{"library", "| A1 | sentence | | Go library: `TestA` |", 0},
		{"no such test", "| A1 | sentence | 3 | `TestGone` |", 1},
		{"no test", "| A1 | sentence | 3 | works |", 1},
		{"missing", "", 1},
		{"twice", rows[1], 2},
	}
	for _, tt := range tests {
		text := tt.row + "\n" + strings.Join(rows[1:], "\n")
		if got := statements(text, map[string]bool{"TestA": true}); len(got) != tt.want {
			t.Errorf("%s: found %q, want %d problems", tt.name, got, tt.want)
		}
	}
}

func statements(text string, tests map[string]bool) []string {
	var problems []string
	rows := map[string]int{}
	for line := range strings.Lines(text) {
		m := statementRow.FindStringSubmatch(strings.TrimSpace(line))
		if m == nil {
			continue
		}
		rows[m[1]]++
		if m[4] == "open" {
			continue
		}
		if !statementTest.MatchString(m[4]) {
			problems = append(problems, fmt.Sprintf("row %s: %q is neither open nor a list of tests", m[1], m[4]))
			continue
		}
		for _, name := range testName.FindAllString(m[4], -1) {
			if !tests[name] && !strings.Contains(m[4], "/"+name) {
				problems = append(problems, fmt.Sprintf("row %s: there is no test %s", m[1], name))
			}
		}
	}
	for _, s := range statementIDs {
		for n := 1; n <= s.rows; n++ {
			if id := fmt.Sprintf("%s%d", s.prefix, n); rows[id] != 1 {
				problems = append(problems, fmt.Sprintf("row %s stands there %d times", id, rows[id]))
			}
		}
	}
	return problems
}
