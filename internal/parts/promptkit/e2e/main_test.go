package promptkit

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/parley-a2a/parley/internal/testing/hubtest"
)

// TestMain builds the command in its own module, with its own dependencies.
func TestMain(m *testing.M) {
	os.Exit(run(m))
}

func run(m *testing.M) int {
	if os.Getenv("PARLEY_BINARY") == "" {
		dir, err := os.MkdirTemp("", "parley")
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		defer os.RemoveAll(dir)
		path := filepath.Join(dir, "parley")
		if out, err := exec.Command("go", "build", "-C", "../../../..", "-o", path, "./cmd/parley").CombinedOutput(); err != nil {
			fmt.Fprintf(os.Stderr, "go build: %v\n%s", err, out)
			return 1
		}
		os.Setenv("PARLEY_BINARY", path)
	}
	return hubtest.M{M: m}.Run()
}
