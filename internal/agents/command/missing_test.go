package command

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestMissing: a program that is missing or not executable is known before the first message.
func TestMissing(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, mode := range map[string]os.FileMode{"run.sh": 0o700, "plain.txt": 0o600} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\n"), mode); err != nil {
			t.Fatal(err)
		}
	}
	for line, want := range map[string]string{
		"":                               "",
		"sh":                             "",
		"./run.sh":                       "",
		"no-such-program-4711":           `program "no-such-program-4711" cannot be started`,
		"./nothere.sh":                   "no such file",
		"./plain.txt":                    "permission denied",
		"/bin/sh|-c|./run.sh x":          "",
		"/bin/sh|-c|./nothere.sh --fast": `program "./nothere.sh" cannot be started`,
		"/bin/sh|-c|./plain.txt":         "permission denied",
		"/bin/sh|-c|nothere | cat":       "", // may be a function
		"/bin/sh|-c|$HOME/nothere":       "",
		"/bin/sh|-c|test -x ./nothere":   "",
	} {
		a := &Agent{Dir: dir}
		if line != "" {
			a.Command = strings.Split(line, "|")
		}
		if strings.HasSuffix(line, "| cat") {
			a.Command = []string{"/bin/sh", "-c", "nothere | cat"}
		}
		err := a.Missing()
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("Missing of %q = %v, want %q", a.Command, err, want)
		}
	}
}
