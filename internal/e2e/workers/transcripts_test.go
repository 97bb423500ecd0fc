package workers

import (
	"os/exec"
	"testing"

	"github.com/parley-a2a/parley/internal/testing/suite/workertest"
)

// TestPythonTranscripts tests the worker in Python with the transcripts.
func TestPythonTranscripts(t *testing.T) {
	t.Parallel()
	start := workertest.Command("/usr/bin/env", "PYTHONPATH="+sdk(t, "python", "src"), python(t), "-B", sdk(t, "python", "tests", "transcript_agent.py"))
	workertest.Run(t, workertest.Suite{Start: start})
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
