package cli

import (
	"io"
	"strings"
	"testing"
)

// Each section of the help belongs to a command, and commands have examples.
func TestHelpOfCommands(t *testing.T) {
	t.Parallel()
	parser, err := newParser(&OS{Stdout: io.Discard, Stderr: io.Discard}, new(commands))
	if err != nil {
		t.Fatal(err)
	}
	sections := strings.Count("\n"+helpText, "\n# ")
	for _, leaf := range parser.Model.Leaves(false) {
		if leaf.Detail != "" {
			sections--
		}
		if !leaf.Hidden && !strings.Contains(leaf.Detail, "\n\n    parley ") && !strings.Contains(leaf.Detail, "xample") {
			t.Errorf("%s has no example: %q", leaf.FullPath(), leaf.Detail)
		}
	}
	if sections != 0 {
		t.Errorf("%d sections of help.txt belong to no command", sections)
	}
}
