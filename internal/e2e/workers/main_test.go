package workers

import (
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
	return filepath.Join(testenv.Made(t, "sdk/python/.venv"), "bin", "python")
}

// node skips or fails the test unless sdk/ts is built.
func node(t *testing.T) {
	t.Helper()
	testenv.Tool(t, "node")
	testenv.Made(t, "sdk/ts/dist")
}
