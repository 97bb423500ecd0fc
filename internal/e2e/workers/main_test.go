package workers

import (
	"os"
	"path/filepath"
	"testing"

	"go.uber.org/goleak"

	"github.com/parley-a2a/parley/internal/testing/hubtest"
	"github.com/parley-a2a/parley/internal/testing/rabbittest"
	"github.com/parley-a2a/parley/internal/testing/testenv"
)

func TestMain(m *testing.M) {
	testenv.Parallel(6) // the transcripts wait for times of the contract
	goleak.VerifyTestMain(hubtest.M{M: m}, goleak.Cleanup(rabbittest.Exit))
}

// sdk returns the path of a file below the folder sdk.
func sdk(t *testing.T, name ...string) string {
	t.Helper()
	path, err := filepath.Abs(filepath.Join(append([]string{"..", "..", "..", "sdk"}, name...)...))
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// python returns the interpreter of sdk/python.
func python(t *testing.T) string {
	t.Helper()
	path := sdk(t, "python", ".venv", "bin", "python")
	_, err := os.Stat(path)
	testenv.Met(t, err == nil, "virtual environment sdk/python/.venv (run .ci/venvs)")
	return path
}

// node skips or fails the test unless sdk/ts is built.
func node(t *testing.T) {
	t.Helper()
	testenv.Tool(t, "node")
	_, err := os.Stat(sdk(t, "ts", "dist", "index.js"))
	testenv.Met(t, err == nil, "build of sdk/ts (npm ci && npm run build in sdk/ts)")
}
