// Package workerpython has no Go code: its workers are in Python. These tests start them
// beside a hub, on real brokers, and call the agent as anybody would.
package workerpython

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/parley-a2a/parley/internal/need"
)

// python returns the interpreter of the virtual environment that .ci/venvs makes here.
func python(t *testing.T) string {
	t.Helper()
	path, err := filepath.Abs(filepath.Join(".venv", "bin", "python"))
	if err != nil {
		t.Fatal(err)
	}
	_, err = os.Stat(path)
	need.Met(t, err == nil, "virtual environment examples/worker-python/.venv (run .ci/venvs)")
	return path
}

// TestCore runs the tests of job.py.
func TestCore(t *testing.T) {
	t.Parallel()
	cmd := exec.CommandContext(t.Context(), python(t), "-B", "-m", "unittest")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v:\n%s", err, out)
	}
}
