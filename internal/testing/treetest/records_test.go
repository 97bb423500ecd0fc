package treetest

import (
	"fmt"
	"go/ast"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// parityRows is the number of features in the table of the four systems.
const parityRows = 150

var (
	parityRow  = regexp.MustCompile(`^\| *(\d+) *\| *(.+?) *\| *(.+?) *\|$`)
	parityGood = regexp.MustCompile(`^(planned|left out, because .+\.|(works|Go library)(: [A-Z]+\d+(, [A-Z]+\d+)*)?, proven by (Test|Fuzz|Example)\w+(, (Test|Fuzz|Example)\w+)*)$`)
	testName   = regexp.MustCompile(`\b(Test|Fuzz|Example)\w+`)
)

func TestParity(t *testing.T) {
	t.Parallel()
	tr := load(t)
	report(t, parity(tr.read(t, "internal/parts/parity.md"), testNames(tr.sources)),
		"internal/parts/parity.md has the rows 1 to 150, each planned, left out with a reason, or proven by tests that exist")
	report(t, parityStatements(tr.read(t, "internal/parts/parity.md"), tr.read(t, "internal/parts/statements.md")),
		"a row of internal/parts/parity.md works, or is a Go library, as the statements say that name it, and names all of them")
}

func TestParityRule(t *testing.T) {
	t.Parallel()
	good := make([]string, parityRows)
	for i := range good {
		good[i] = fmt.Sprintf("| %d | feature | planned |", i+1)
	}
	tests := []struct {
		name string
		at   int // number of the row to change, from 1; 0 changes nothing
		row  string
		bad  bool
	}{
		{"good", 0, "", false},
		{"proven", 3, "| 3 | feature | works, proven by TestA, TestB |", false},
		{"proven by no test", 3, "| 3 | feature | works, proven by TestA, TestGone |", true},
		{"left out", 3, "| 3 | feature | left out, because nobody asks for it. |", false},
		{"left out without a reason", 3, "| 3 | feature | left out |", true},
		{"wrong number", 3, "| 4 | feature | planned |", true},
		{"nearly", 3, "| 3 | feature | nearly done |", true},
		{"missing", 3, "", true},
	}
	for _, tt := range tests {
		rows := slices.Clone(good)
		if tt.at > 0 {
			rows[tt.at-1] = tt.row
		}
		got := parity(strings.Join(rows, "\n"), map[string]bool{"TestA": true, "TestB": true})
		if (len(got) > 0) != tt.bad {
			t.Errorf("%s: found %q, want problems: %v", tt.name, got, tt.bad)
		}
	}
}

func parity(text string, tests map[string]bool) []string {
	var problems []string
	want := 1
	for line := range strings.Lines(text) {
		m := parityRow.FindStringSubmatch(strings.TrimSpace(line))
		if m == nil {
			continue
		}
		if n, _ := strconv.Atoi(m[1]); n != want {
			problems = append(problems, fmt.Sprintf("row %d stands where row %d should", n, want))
		}
		want++
		if !parityGood.MatchString(m[3]) {
			problems = append(problems, fmt.Sprintf("row %s: %q is not a state", m[1], m[3]))
		}
		if !strings.Contains(m[3], ", proven by ") {
			continue
		}
		for _, name := range testName.FindAllString(m[3], -1) {
			if !tests[name] {
				problems = append(problems, fmt.Sprintf("row %s: there is no test %s", m[1], name))
			}
		}
	}
	if want != parityRows+1 {
		problems = append(problems, fmt.Sprintf("%d rows, want %d", want-1, parityRows))
	}
	return problems
}

// testNames returns the names of the test, fuzz and example functions in sources.
func testNames(sources []*source) map[string]bool {
	names := map[string]bool{}
	for _, s := range sources {
		if !s.test {
			continue
		}
		for _, d := range s.file.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && f.Recv == nil && testName.MatchString(f.Name.Name) {
				names[f.Name.Name] = true
			}
		}
	}
	return names
}

// adrParts are the sections of a decision record.
var adrParts = []string{"## Why", "## Decision", "## The road not taken", "## Consequences"}

var adrName = regexp.MustCompile(`^docs/adr/(\d{4})-[a-z0-9-]+\.md$`)

func TestDecisionRecords(t *testing.T) {
	t.Parallel()
	tr := load(t)
	texts := map[string]string{}
	for _, name := range tr.files {
		if strings.HasPrefix(name, "docs/adr/") {
			texts[name] = tr.read(t, name)
		}
	}
	if len(texts) == 0 {
		t.Fatal("docs/adr is empty; each decision that someone could undo has a record there")
	}
	report(t, decisionRecords(texts), "records of decisions are docs/adr/NNNN-title.md, each with a number of its own, with the sections "+strings.Join(adrParts, ", "))
}

func TestDecisionRecordsRule(t *testing.T) {
	t.Parallel()
	body := func(n string) string {
		return "# " + n + ": Title\n\n" + strings.Join(adrParts, "\n\nText.\n\n") + "\n\nText.\n"
	}
	mustFind(t, decisionRecords(map[string]string{"docs/adr/0001-a.md": body("0001"), "docs/adr/0002-b.md": body("0002")}), 0)
	mustFind(t, decisionRecords(map[string]string{"docs/adr/0001-a.md": body("0001"), "docs/adr/0001-b.md": body("0001")}), 1)
	mustFind(t, decisionRecords(map[string]string{"docs/adr/0001-a.md": body("0002")}), 1)
	mustFind(t, decisionRecords(map[string]string{"docs/adr/0001-a.md": "# 0001: Title\n\n## Why\n\nText.\n"}), 3)
	mustFind(t, decisionRecords(map[string]string{"docs/adr/notes.txt": ""}), 1)
}

func decisionRecords(texts map[string]string) []string {
	var problems, numbers []string
	for name, text := range texts {
		m := adrName.FindStringSubmatch(name)
		if m == nil {
			problems = append(problems, name+": not the name of a record")
			continue
		}
		numbers = append(numbers, m[1])
		if !strings.HasPrefix(text, "# "+m[1]+": ") {
			problems = append(problems, fmt.Sprintf("%s: must begin with %q", path.Base(name), "# "+m[1]+": "))
		}
		for _, part := range adrParts {
			if !strings.Contains(text, "\n"+part+"\n") {
				problems = append(problems, fmt.Sprintf("%s: no section %q", path.Base(name), part))
			}
		}
	}
	slices.Sort(numbers)
	for i := range numbers[:max(0, len(numbers)-1)] {
		if numbers[i] == numbers[i+1] {
			problems = append(problems, "two records have the number "+numbers[i])
		}
	}
	return problems
}

// parityStatements returns the rows whose state differs from the state of their statements.
func parityStatements(parity, statements string) []string {
	about := map[string][]string{}
	open, library := map[string]bool{}, map[string]bool{}
	for line := range strings.Lines(statements) {
		m := statementRow.FindStringSubmatch(strings.TrimSpace(line))
		if m == nil {
			continue
		}
		for row := range strings.SplitSeq(m[3], ",") {
			row = strings.TrimSpace(row)
			about[row] = append(about[row], m[1])
			open[row] = open[row] || m[4] == "open"
			library[row] = library[row] || strings.HasPrefix(m[4], "Go library")
		}
	}
	var problems []string
	for line := range strings.Lines(parity) {
		m := parityRow.FindStringSubmatch(strings.TrimSpace(line))
		if m == nil || len(about[m[1]]) == 0 {
			continue
		}
		want := "works: " + strings.Join(about[m[1]], ", ") + ", proven by "
		switch {
		case open[m[1]]:
			want = "planned"
		case library[m[1]]:
			want = strings.Replace(want, "works", "Go library", 1)
		}
		if !strings.HasPrefix(m[3], want) {
			problems = append(problems, fmt.Sprintf("row %s is %q, want %q", m[1], m[3], want))
		}
	}
	return problems
}

func TestParityStatementsRule(t *testing.T) {
	t.Parallel()
	const statements = "| A1 | s | 3, 4 | `TestA` |\n| B2 | s | 4 | `TestB` |\n| C1 | s | 5 | open |\n| PK1 | s | 6 | Go library: `TestC` |\n"
	good := "| 3 | f | works: A1, proven by TestA |\n| 4 | f | works: A1, B2, proven by TestA |\n| 5 | f | planned |\n| 6 | f | Go library: PK1, proven by TestC |\n| 7 | f | works, proven by TestD |\n"
	mustFind(t, parityStatements(good, statements), 0)
	for _, change := range [][2]string{
		{"works: A1, B2", "works: A1"},
		{"| 5 | f | planned", "| 5 | f | works: C1, proven by TestA"},
		{"Go library", "works"},
		{"works: A1, proven", "planned: A1, proven"},
	} {
		mustFind(t, parityStatements(strings.Replace(good, change[0], change[1], 1), statements), 1)
	}
}
