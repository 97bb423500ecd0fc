package treetest

import (
	"fmt"
	"path"
	"strings"
	"testing"
)

// packages are the workers in other languages. The code of each stays below max lines, so that an author of
// a worker for one more language can read one of them as a whole.
var packages = []struct {
	dir, ext string
	max      int
	code     func(text string) int
}{
	{"sdk/python/src/", ".py", 600, pythonLines},
	{"sdk/ts/src/", ".ts", 600, typeScriptLines},
}

// codeLines counts the lines of text that have code: neither blank lines, nor those of line comments, nor those
// between a line that begins with open and the next one that has end.
func codeLines(text, comment, open, end string) int {
	n, within := 0, false
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		switch {
		case within:
			within = !strings.Contains(line, end)
		case strings.HasPrefix(line, open):
			within = !strings.Contains(line[len(open):], end)
		case line != "" && !strings.HasPrefix(line, comment):
			n++
		}
	}
	return n
}

// pythonLines counts the lines of code of a module, without documentation strings.
func pythonLines(text string) int { return codeLines(text, "#", `"""`, `"""`) }

func typeScriptLines(text string) int { return codeLines(text, "//", "/*", "*/") }

// sizeOf returns the lines of code in the files of a package, and all of their lines.
func sizeOf(t *testing.T, tr *tree, dir, ext string, code func(string) int) (lines, all int) {
	t.Helper()
	for _, name := range tr.files {
		if strings.HasPrefix(name, dir) && path.Ext(name) == ext {
			text := tr.read(t, name)
			lines, all = lines+code(text), all+strings.Count(text, "\n")
		}
	}
	return lines, all
}

// TestSizesOfWorkers holds the limits of the workers in other languages.
func TestSizesOfWorkers(t *testing.T) {
	t.Parallel()
	var problems []string
	for _, p := range packages {
		lines, all := sizeOf(t, load(t), p.dir, p.ext, p.code)
		t.Logf("%s: %d lines of code, %d lines", p.dir, lines, all)
		if lines == 0 || lines >= p.max {
			problems = append(problems, fmt.Sprintf("%s: %d lines of code, want less than %d", p.dir, lines, p.max))
		}
	}
	report(t, problems, "keep a worker in another language small enough to read as a whole")
}

func TestSizesOfWorkersRule(t *testing.T) {
	t.Parallel()
	python := "\"\"\"One line.\"\"\"\n\nimport os  # counts\n\n# a comment\ndef f():\n    \"\"\"More\n\n    lines.\n    \"\"\"\n    return \"\"\"counts\"\"\"\n"
	if got := pythonLines(python); got != 3 {
		t.Errorf("pythonLines = %d, want 3 for\n%s", got, python)
	}
	typescript := "/** One line. */\nimport x; // counts\n\n/**\n * More\n * lines.\n */\n  // a comment\nx(); /* counts */\n"
	if got := typeScriptLines(typescript); got != 2 {
		t.Errorf("typeScriptLines = %d, want 2 for\n%s", got, typescript)
	}
}
