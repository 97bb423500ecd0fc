package hubtest

import (
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"sync"
	"testing"
)

// binaryEnv names a command to use instead of building one.
const binaryEnv = "PARLEY_BINARY"

// built is the command of this process.
var built struct {
	once sync.Once
	main bool // set by M, which removes the built command
	dir  string
	path string
	err  error
}

var errNoMain = errors.New("hubtest: TestMain does not run hubtest.M, which removes the program")

// M builds the command, runs the tests of a package, and removes the command. It builds before
// the first test, since a build on a busy machine takes minutes, in which a connection that a
// test has opened may time out. It is used with goleak:
//
//	func TestMain(m *testing.M) { goleak.VerifyTestMain(hubtest.M{M: m}) }
type M struct{ *testing.M }

// Run implements goleak.TestingM.
func (m M) Run() int {
	built.main = true
	_, _ = binary() // Binary reports the error
	code := m.M.Run()
	http.DefaultClient.CloseIdleConnections()
	if built.dir != "" {
		os.RemoveAll(built.dir)
	}
	return code
}

// Binary returns the path of the command. TestMain must run an M.
func Binary(tb testing.TB) string {
	tb.Helper()
	path, err := binary()
	if err != nil {
		tb.Fatal(err)
	}
	return path
}

func binary() (string, error) {
	if path := os.Getenv(binaryEnv); path != "" {
		return path, nil
	}
	built.once.Do(func() {
		if built.path, built.err = build(); built.err != nil {
			built.path = ""
		}
	})
	return built.path, built.err
}

func build() (string, error) {
	if !built.main {
		return "", errNoMain
	}
	dir, err := os.MkdirTemp("", "parley")
	if err != nil {
		return "", err
	}
	built.dir = dir
	path := filepath.Join(dir, "parley")
	if runtime.GOOS == "windows" {
		path += ".exe"
	}
	out, err := builder(path).CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("go build: %w\n%s", err, out)
	}
	return path, nil
}

// builder returns the process that builds the command at path. The build cache of Go keeps a program
// that go run has linked, but none of go build: with cp in place of the program, only the first of
// the packages links it.
func builder(path string) *exec.Cmd {
	const command = "github.com/parley-a2a/parley/cmd/parley"
	if cp, err := exec.LookPath("cp"); err == nil {
		return exec.Command("go", "run", "-exec", cp, command, path)
	}
	return exec.Command("go", "build", "-o", path, command)
}
