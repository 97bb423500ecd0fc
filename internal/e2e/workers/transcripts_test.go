package workers

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/parley-a2a/parley/internal/testing/suite/workertest"
)

// TestPythonTranscripts tests the worker in Python with the transcripts.
func TestPythonTranscripts(t *testing.T) {
	t.Parallel()
	start := workertest.Command("/usr/bin/env", "PYTHONPATH="+sdk(t, "python", "src"), python(t), "-B", sdk(t, "python", "tests", "transcript_agent.py"))
	workertest.Run(t, workertest.Suite{Start: start})
}

// TestPythonWire runs the tests of the package itself, with the examples of the contract.
func TestPythonWire(t *testing.T) {
	t.Parallel()
	cmd := exec.CommandContext(t.Context(), python(t), "-B", "-m", "unittest", "discover", "-v", "-s", sdk(t, "python", "tests"))
	cmd.Env = append(os.Environ(), "PYTHONPATH="+sdk(t, "python", "src"))
	if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), "test_examples_of_the_document") {
		t.Errorf("unittest: %v:\n%s", err, out)
	}
}

// TestPythonTypes checks the types of the package, strictly.
func TestPythonTypes(t *testing.T) {
	t.Parallel()
	cmd := exec.CommandContext(t.Context(), python(t), "-m", "mypy", "--cache-dir="+t.TempDir())
	cmd.Dir = sdk(t, "python")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("mypy: %v:\n%s", err, out)
	}
}

// TestTypeScriptTranscripts tests the worker in TypeScript with the transcripts.
func TestTypeScriptTranscripts(t *testing.T) {
	t.Parallel()
	node(t)
	start := workertest.Command("node", sdk(t, "ts", "tests", "transcript_agent.mjs"))
	workertest.Run(t, workertest.Suite{Start: start})
}

// TestTypeScriptWire runs the tests of the package itself, with the examples of the contract.
func TestTypeScriptWire(t *testing.T) {
	t.Parallel()
	node(t)
	cmd := exec.CommandContext(t.Context(), "node", "--test", "--test-reporter=tap", sdk(t, "ts", "tests", "wire_test.mjs"))
	if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), "ok 1 - examples of the document") {
		t.Errorf("node --test: %v:\n%s", err, out)
	}
}
