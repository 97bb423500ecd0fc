package interop

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the tables of README.md again")

// document is README.md. Its parts between marks are results of the tests.
var document = struct {
	mu   sync.Mutex // guards the file
	file string
}{file: "README.md"}

// wantPart compares a part of the page with the results of the tests, or writes it.
func wantPart(t testing.TB, name, want string) {
	t.Helper()
	document.mu.Lock()
	defer document.mu.Unlock()
	b, err := os.ReadFile(document.file)
	if err != nil {
		t.Fatal(err)
	}
	before, got, after, err := cutPart(string(b), name)
	if err != nil {
		t.Fatal(err)
	}
	want = "\n\n" + strings.TrimSpace(want) + "\n\n"
	if *update {
		if err := os.WriteFile(document.file, []byte(before+want+after), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s, part %s, is not what the tests came to; go test -update writes it (-want +got):\n%s", document.file, name, diff)
	}
}

// cutPart splits a text at the marks of a part. The marks belong to the surrounding text.
func cutPart(text, name string) (before, inside, after string, err error) {
	begin, end := "<!-- "+name+" -->", "<!-- end of "+name+" -->"
	before, rest, begun := strings.Cut(text, begin)
	inside, after, ended := strings.Cut(rest, end)
	if !begun || !ended {
		return "", "", "", fmt.Errorf("there is no part %q", name)
	}
	return before + begin, inside, end + after, nil
}

// row appends a row of a Markdown table.
func row(b *strings.Builder, cells ...string) {
	for _, c := range cells {
		fmt.Fprintf(b, "| %s ", strings.ReplaceAll(c, "|", `\|`))
	}
	b.WriteString("|\n")
}

// head appends the head of a Markdown table.
func head(b *strings.Builder, cells ...string) {
	row(b, cells...)
	b.WriteString(strings.Repeat("|---", len(cells)) + "|\n")
}

func TestCutPart(t *testing.T) {
	t.Parallel()
	before, inside, after, err := cutPart("a <!-- x --> old <!-- end of x --> b", "x")
	if err != nil || before != "a <!-- x -->" || inside != " old " || after != "<!-- end of x --> b" {
		t.Errorf("cutPart = %q, %q, %q, %v", before, inside, after, err)
	}
	if _, _, _, err := cutPart("a <!-- x --> old", "x"); err == nil {
		t.Error("a part without an end is found")
	}
}

// ledger holds the outcomes of a table's tests.
type ledger struct {
	mu    sync.Mutex // guards the field below
	cells map[[3]string]string
}

// The outcomes.
const (
	works      = "works"
	acceptedAs = "accepted failure"
	fails      = "fails"
	notThere   = "missing"
)

// note records the outcome of a test.
func (l *ledger) note(who, binding, what, outcome string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.cells == nil {
		l.cells = make(map[[3]string]string)
	}
	l.cells[[3]string{who, binding, what}] = outcome
}

// noted returns the outcome of a test, or "" if it did not run.
func (l *ledger) noted(who, binding, what string) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.cells[[3]string{who, binding, what}]
}

// outcome returns the outcome that failures amount to.
func outcome(failures []string, reason string) string {
	switch {
	case len(failures) == 0:
		return works
	case reason != "":
		return acceptedAs
	}
	return fails
}
