package command

import (
	"cmp"
	"errors"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
)

// plainPath matches the path of a program without characters of the shell.
var plainPath = regexp.MustCompile(`^[\w.-]*/[\w./-]*$`)

// Missing returns an error if the program does not exist or may not be executed at present. Of a
// line for the shell it examines the first word, and only if that is a path: other words may be
// functions or commands of the shell.
func (a *Agent) Missing() error {
	if len(a.Command) == 0 {
		return nil // start reports it
	}
	name := a.Command[0]
	if len(a.Command) == 3 && name == "/bin/sh" && a.Command[1] == "-c" {
		first, _, _ := strings.Cut(strings.TrimSpace(a.Command[2]), " ")
		if plainPath.MatchString(first) {
			name = first
		}
	}
	at := name
	if strings.Contains(name, "/") && !filepath.IsAbs(name) {
		at, _ = filepath.Abs(filepath.Join(cmp.Or(a.Dir, "."), name)) // if the folder is unknown, the name decides
		at = cmp.Or(at, name)
	}
	_, err := exec.LookPath(at)
	if about, ok := errors.AsType[*exec.Error](err); ok {
		err = about.Err // startError names the program
	}
	if err != nil {
		return &startError{name, err}
	}
	return nil
}
