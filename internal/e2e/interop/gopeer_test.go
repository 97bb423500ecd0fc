package interop

import (
	"bytes"
	"fmt"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
)

// builds maps the modules beside this one to their programs, each built once.
var builds struct {
	mu  sync.Mutex // guards the field below
	all map[string]func() error
}

// goModule returns the command of a program that is a Go module of its own, built from the
// sources in its folder. The go command downloads its dependencies.
func goModule(args ...string) func(t *testing.T, dir string) []string {
	return func(t *testing.T, dir string) []string {
		t.Helper()
		program := filepath.Join(filepath.Dir(binary), "peer-"+dir)
		if err := built(dir, program); err != nil {
			t.Fatal(err)
		}
		return append([]string{program}, args...)
	}
}

func built(dir, program string) error {
	builds.mu.Lock()
	if builds.all == nil {
		builds.all = make(map[string]func() error)
	}
	build := builds.all[dir]
	if build == nil {
		build = sync.OnceValue(func() error {
			cmd := exec.Command("go", "build", "-o", program, ".")
			cmd.Dir = dir
			var text bytes.Buffer
			cmd.Stderr = &text
			if err := cmd.Run(); err != nil {
				return fmt.Errorf("build %s: %w\n%s", dir, err, text.Bytes())
			}
			return nil
		})
		builds.all[dir] = build
	}
	builds.mu.Unlock()
	return build()
}

// goProgram returns the command of a program of this module.
func goProgram(dir string) func(t *testing.T, _ string) []string {
	return func(t *testing.T, _ string) []string { return goModule()(t, dir) }
}
