package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/parley-a2a/parley/internal/testing/testenv"
)

// underUnit is set for the process that runs a program within the bounds of the unit.
const underUnit = "PARLEY_TEST_UNDER_UNIT"

// TestServiceRunsNode runs Node within the bounds of the unit that a process can set for itself:
// agents and MCP servers are often programs that compile code when they run.
func TestServiceRunsNode(t *testing.T) {
	if node := os.Getenv(underUnit); node != "" {
		runBound(t, node)
		return
	}
	t.Parallel()
	cmd := exec.Command(os.Args[0], "-test.run=^TestServiceRunsNode$")
	cmd.Env = append(os.Environ(), underUnit+"="+testenv.Tool(t, "node"))
	if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), "compiled") {
		t.Errorf("Node within the bounds of the unit: %v\n%s", err, out)
	}
}

// runBound replaces the process with Node.
func runBound(t *testing.T, node string) {
	unit, err := os.ReadFile(filepath.Join("linux", "parley.service"))
	if err != nil {
		t.Fatal(err)
	}
	for line, set := range map[string]func() error{
		"NoNewPrivileges=yes":        func() error { return unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) },
		"MemoryDenyWriteExecute=yes": func() error { return unix.Prctl(unix.PR_SET_MDWE, unix.PR_MDWE_REFUSE_EXEC_GAIN, 0, 0, 0) },
	} {
		if strings.Contains(string(unit), "\n"+line+"\n") {
			if err := set(); err != nil {
				t.Fatalf("%s: %v", line, err)
			}
		}
	}
	const program = "let n = 0; for (let i = 0; i < 1e6; i++) n += i; console.log('compiled', n)"
	t.Fatal(syscall.Exec(node, []string{"node", "-e", program}, os.Environ()))
}
