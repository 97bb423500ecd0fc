package crash

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"

	"go.uber.org/goleak"

	"github.com/parley-a2a/parley/internal/testing/hubtest"
)

// agentProgram is the path of the program in the folder program.
var agentProgram string

func TestMain(m *testing.M) { goleak.VerifyTestMain(building{hubtest.M{M: m}}) }

// building builds the program before the tests.
type building struct{ hubtest.M }

func (b building) Run() int {
	dir, err := os.MkdirTemp("", "crash")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	agentProgram = filepath.Join(dir, "program")
	if out, err := exec.Command("go", "build", "-o", agentProgram, "./program").CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "go build: %v\n%s", err, out)
		return 1
	}
	return b.M.Run()
}

// number returns a positive number from the environment, or fallback.
func number(t *testing.T, name string, fallback int) int {
	t.Helper()
	s := os.Getenv(name)
	if s == "" {
		return fallback
	}
	n, err := strconv.Atoi(s)
	if err != nil || n < 1 {
		t.Fatalf("%s=%q is not a positive number", name, s)
	}
	return n
}
