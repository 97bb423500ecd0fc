package treetest

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// dialectTables are the tables of internal/parts/dialects.md with the smallest number of rows of each.
// Row numbers have no gaps.
var dialectTables = []struct {
	heading string
	rows    int
}{{"## Conflicts", 49}, {"## Traps", 17}}

var (
	dialectRow = regexp.MustCompile(`^\| *(\d+) *\| *([^|]+?) *\| *([^|]*?) *\| *([^|]*?) *\|$`)
	// notProven matches the reason in a row without a test.
	notProven = regexp.MustCompile(`^not (built|tested): \S.*$`)
	proof     = regexp.MustCompile("^(?:((?:Test|Fuzz|Example)\\w+)|transcript `([a-z0-9-]+)`)$")
)

func TestDialects(t *testing.T) {
	t.Parallel()
	tr := load(t)
	files := map[string]bool{}
	for _, name := range tr.files {
		files[name] = true
	}
	report(t, dialects(tr.read(t, "internal/parts/dialects.md"), testNames(tr.sources), files),
		"internal/parts/dialects.md has every conflict and every trap, each with a rule, and with tests that exist "+
			"or with the reason why there is no test")
}

func TestDialectsRule(t *testing.T) {
	t.Parallel()
	tests := map[string]bool{"TestA": true, "FuzzB": true}
	files := map[string]bool{"internal/front/httpfront/testdata/a-b.txtar": true}
	const good = "| 3 | topic | rule | TestA |"
	for row, want := range map[string]int{
		good: 0,
		"| 3 | topic | rule | TestA, FuzzB, transcript `a-b` |": 0,
		"| 3 | topic | rule; not built: a half | TestA |":       0,
		"| 3 | topic | rule | not built: nobody is there |":     0,
		"| 3 | topic | rule | not tested: it needs the moon |":  0,
		"| 3 | topic |  | TestA |":                              1,
		"| 3 | topic | rule |  |":                               1,
		"| 3 | topic | rule | not built |":                      1,
		"| 3 | topic | rule | not tested: |":                    1,
		"| 3 | topic | rule | works |":                          1,
		"| 3 | topic | rule | TestA, TestGone |":                1,
		"| 3 | topic | rule | transcript `gone` |":              1,
		"| 4 | topic | rule | TestA |":                          1,
		"| 3 | topic | rule |":                                  1,
		"":                                                      1,
	} {
		var text strings.Builder
		for _, table := range dialectTables {
			fmt.Fprintf(&text, "%s\n\n| # | Topic | Rule | Proof |\n|---|---|---|---|\n", table.heading)
			for n := range table.rows {
				line := strings.Replace(good, "3", strconv.Itoa(n+1), 1)
				if n == table.rows-1 && table.heading == "## Traps" {
					line = strings.Replace(row, "| 3 |", fmt.Sprintf("| %d |", n+1), 1)
				}
				fmt.Fprintln(&text, line)
			}
		}
		if got := dialects(text.String(), tests, files); len(got) != want {
			t.Errorf("%q: found %d problems, want %d: %q", row, len(got), want, got)
		}
	}
}

func dialects(text string, tests, files map[string]bool) []string {
	var problems []string
	for _, table := range dialectTables {
		_, part, _ := strings.Cut(text, table.heading+"\n")
		part, _, _ = strings.Cut(part, "\n## ")
		n := 0
		for line := range strings.Lines(part) {
			line = strings.TrimSpace(line)
			if !strings.HasPrefix(line, "|") || strings.HasPrefix(line, "| # |") || strings.HasPrefix(line, "|---") {
				continue
			}
			n++
			for _, p := range dialectProblems(line, n, tests, files) {
				problems = append(problems, fmt.Sprintf("%s, row %d: %s", table.heading, n, p))
			}
		}
		if n < table.rows {
			problems = append(problems, fmt.Sprintf("%s: %d rows, want at least %d", table.heading, n, table.rows))
		}
	}
	return problems
}

// dialectProblems returns the errors in row n of a table.
func dialectProblems(line string, n int, tests, files map[string]bool) []string {
	m := dialectRow.FindStringSubmatch(line)
	if m == nil {
		return []string{"does not have four columns, the first of them a number"}
	}
	var problems []string
	if m[1] != strconv.Itoa(n) {
		problems = append(problems, "has the number "+m[1])
	}
	if m[3] == "" {
		problems = append(problems, "has no rule")
	}
	if !notProven.MatchString(m[4]) {
		problems = append(problems, badProofs(m[4], tests, files)...)
	}
	return problems
}

// badProofs returns the names in a list of proofs that do not exist.
func badProofs(list string, tests, files map[string]bool) []string {
	var problems []string
	for name := range strings.SplitSeq(list, ", ") {
		m := proof.FindStringSubmatch(name)
		switch {
		case m == nil:
			problems = append(problems, fmt.Sprintf("%q is neither a test, a transcript, nor a reason for none", name))
		case m[1] != "" && !tests[m[1]]:
			problems = append(problems, "there is no test "+m[1])
		case m[2] != "" && !files["internal/front/httpfront/testdata/"+m[2]+".txtar"] && !files["grpcbind/testdata/"+m[2]+".txtar"]:
			problems = append(problems, "there is no transcript "+m[2])
		}
	}
	return problems
}
