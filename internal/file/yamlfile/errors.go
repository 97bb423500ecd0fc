package yamlfile

import (
	"fmt"
	"strings"
)

// Error is one problem of a file.
type Error struct {
	// File is the path of the file.
	File string
	// Line is the line number, from 1; 0 if the problem has none.
	Line int
	// Key is the key of the problem, such as "agents[1].command"; empty at the top.
	Key string
	// Problem describes the problem.
	Problem string
}

// Error returns the problem like "parley.yaml:12: agents[1].command: is missing".
func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString(e.File)
	if e.Line > 0 {
		fmt.Fprintf(&b, ":%d", e.Line)
	}
	b.WriteString(": ")
	if e.Key != "" {
		b.WriteString(e.Key + ": ")
	}
	b.WriteString(e.Problem)
	return b.String()
}

// Errors are all problems of a file; at least one.
type Errors []*Error

// Error returns the problems, one per line.
func (e Errors) Error() string {
	lines := make([]string, len(e))
	for i, p := range e {
		lines[i] = p.Error()
	}
	return strings.Join(lines, "\n")
}
