package interop

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// binary is the path of the command, which TestMain builds.
var binary string

func TestMain(m *testing.M) {
	os.Exit(func() int {
		dir, err := os.MkdirTemp("", "interop")
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		defer os.RemoveAll(dir)
		binary = filepath.Join(dir, "parley")
		build := exec.Command("go", "build", "-o", binary, "./cmd/parley")
		build.Dir = filepath.Join("..", "..", "..")
		build.Stderr = os.Stderr
		if err := build.Run(); err != nil {
			fmt.Fprintln(os.Stderr, "build the command:", err)
			return 1
		}
		return m.Run()
	}())
}

// startHub starts the command with its built-in agents on free ports and a new data folder, and
// returns its URL.
func startHub(t *testing.T) string {
	t.Helper()
	url, _ := startHubIn(t, t.TempDir())
	return url
}

// startPlainHub is startHub for clients that refuse cards of both protocol versions.
func startPlainHub(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "parley.yaml"), []byte("union_card: false\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	url, _ := serveHub(t, dir, "--agents", "builtin", "--grpc-listen", "127.0.0.1:0", "--push-allow", "loopback")
	return url
}

// startHubIn starts the command on a data folder. stop, or the end of the test, interrupts the
// hub, which must exit without an error.
func startHubIn(t *testing.T, data string) (url string, stop func()) {
	t.Helper()
	return serveHub(t, t.TempDir(), // without a configuration file
		"--agents", "builtin", "--grpc-listen", "127.0.0.1:0", "--data", data,
		"--push-allow", "loopback") // webhooks of tests are on loopback
}

// serveHub starts the command in a folder with a configuration file. stop is that of
// startHubIn.
func serveHub(t *testing.T, dir string, args ...string) (url string, stop func()) {
	t.Helper()
	cmd := exec.Command(binary, append([]string{"serve", "--listen", "127.0.0.1:0"}, args...)...)
	cmd.Dir = dir
	var log syncBuffer
	cmd.Stderr = &log
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	url = announced(out, "Address")
	var wg sync.WaitGroup
	wg.Go(func() { io.Copy(io.Discard, out) })
	stop = sync.OnceFunc(func() {
		if err := cmd.Process.Signal(os.Interrupt); err != nil {
			t.Error(err)
		}
		wg.Wait()
		if err := cmd.Wait(); err != nil {
			t.Errorf("parley serve: %v", err)
		}
		if t.Failed() {
			t.Logf("the hub's log:\n%s", log.String())
		}
	})
	t.Cleanup(stop)
	if url == "" {
		t.Fatal("parley serve does not say its address")
	}
	return url, stop
}

// announced returns the value of a row in the command's output at the start.
func announced(out io.Reader, row string) string {
	lines := bufio.NewScanner(out)
	found := ""
	for lines.Scan() {
		if name, value, _ := strings.Cut(strings.TrimSpace(lines.Text()), " "); name == row {
			found = strings.TrimSpace(value)
		}
		if strings.HasPrefix(lines.Text(), "Try:") {
			break
		}
	}
	return found
}

// syncBuffer is a buffer for concurrent use.
type syncBuffer struct {
	mu sync.Mutex // guards the field below
	b  bytes.Buffer
}

func (s *syncBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *syncBuffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

// parley runs the command against a server and returns its output and its exit code.
func parley(t testing.TB, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), binary, args...)
	cmd.Dir = t.TempDir()
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return out.String(), errs.String(), cmd.ProcessState.ExitCode()
}
