package hubtest

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/parley-a2a/parley/internal/testing/testenv"
)

// Options configure a hub. The zero value is a hub with the built-in agents on a new data
// folder.
type Options struct {
	// Config is the text of parley.yaml. It must not set the log level above info, because the
	// log shows when the hub is ready.
	Config string
	// Flags are further flags of parley serve.
	Flags []string
	// Env are further environment variables, as in Command.
	Env []string
	// Data is the data folder; "" creates a new one.
	Data string
	// Binary is the path of the command; "" builds that of the tree.
	Binary string
}

// Hub is a hub process that can be killed and started again with the same address and data.
type Hub struct {
	tb               testing.TB
	bin, addr        string
	dir, data        string
	flags, variables []string

	mu      sync.Mutex // guards the fields below
	process *Process   // the current or last process; nil before the first
	before  string     // the output of earlier processes
	took    time.Duration
	closed  bool
}

// Start starts a hub, which ends with the test.
func Start(tb testing.TB, o Options) *Hub {
	tb.Helper()
	h := New(tb, o)
	if err := h.Start(); err != nil {
		tb.Fatal(err)
	}
	return h
}

// New creates a hub with an address, without starting it. It ends with the test.
func New(tb testing.TB, o Options) *Hub {
	tb.Helper()
	if o.Binary == "" {
		o.Binary = Binary(tb)
	}
	h := &Hub{tb: tb, bin: o.Binary, addr: Addr(tb), dir: tb.TempDir(), data: o.Data, flags: o.Flags, variables: o.Env}
	if h.data == "" {
		h.data = filepath.Join(h.dir, "data")
	}
	h.Configure(o.Config)
	tb.Cleanup(func() {
		h.mu.Lock()
		h.closed = true
		h.mu.Unlock()
		h.Kill()
		if tb.Failed() {
			tb.Logf("the hub at %s said:\n%s", h.addr, tail(h.Output(), 8<<10))
		}
	})
	return h
}

// Configure writes parley.yaml. It takes effect at the next start.
func (h *Hub) Configure(text string) {
	h.tb.Helper()
	if err := os.WriteFile(h.file(), []byte(text), 0o600); err != nil {
		h.tb.Fatal(err)
	}
}

func (h *Hub) file() string { return filepath.Join(h.dir, "parley.yaml") }

// URL is the base URL of the hub, http://127.0.0.1 and a port.
func (h *Hub) URL() string { return "http://" + h.addr }

// Addr is the host and port of URL.
func (h *Hub) Addr() string { return h.addr }

// Dir is the working directory, with parley.yaml in it.
func (h *Hub) Dir() string { return h.dir }

// Data is the data folder.
func (h *Hub) Data() string { return h.data }

// Start starts the hub and waits until it is ready. It returns an error if the hub is already
// running, ends before it is ready, or is not ready within two minutes. Any goroutine may call
// it.
func (h *Hub) Start() error {
	began := time.Now()
	p, err := h.Launch()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := p.Await(ctx, "msg=ready ", `"msg":"ready"`); err != nil {
		return fmt.Errorf("start hub at %s: %w", h.addr, err)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.took = time.Since(began)
	return nil
}

// Launch starts the hub without waiting until it is ready. Any goroutine may call it.
func (h *Hub) Launch() (*Process, error) {
	p, err := h.launch()
	if err != nil {
		return nil, fmt.Errorf("start hub at %s: %w", h.addr, err)
	}
	return p, nil
}

func (h *Hub) launch() (*Process, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return nil, fmt.Errorf("the test is over")
	}
	if h.process != nil {
		select {
		case <-h.process.Done():
		default:
			return nil, fmt.Errorf("it runs")
		}
		h.before = tail(h.before+h.process.Output(), kept)
	}
	args := []string{"serve", "--listen", h.addr, "--data", h.data, "--config", h.file()}
	p, err := launch(h.bin, Command{Args: append(args, h.flags...), Dir: h.dir, Env: h.variables})
	if err == nil {
		h.process = p
	}
	return p, err
}

// Took returns the duration of the last start, until the hub was ready.
func (h *Hub) Took() time.Duration {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.took
}

// Process returns the process of the last start, or nil if there was none.
func (h *Hub) Process() *Process {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.process
}

// Kill ends the hub at once, as kill -9 does, and waits until it has ended.
func (h *Hub) Kill() {
	if p := h.Process(); p != nil {
		p.Kill()
	}
}

// Restart kills the hub and starts it again. It fails the test if the hub does not become
// ready.
func (h *Hub) Restart() {
	h.tb.Helper()
	h.Kill()
	if err := h.Start(); err != nil {
		h.tb.Fatal(err)
	}
}

// Stop shuts the hub down with a drain, and fails the test if it exits with an error.
func (h *Hub) Stop() {
	h.tb.Helper()
	if p := h.Process(); p != nil {
		if err := p.Interrupt(); err != nil {
			h.tb.Fatalf("stop hub at %s: %v", h.addr, err)
		}
	}
}

// Output returns the end of the hub's output, over all its processes.
func (h *Hub) Output() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.process == nil {
		return h.before
	}
	return tail(h.before+h.process.Output(), kept)
}

// Parley runs another command with PARLEY_URL set to the hub, and returns its standard output.
// For an exit code other than 0 it returns an error with the error output.
func (h *Hub) Parley(ctx context.Context, args ...string) (string, error) {
	var out, errs bytes.Buffer
	cmd := exec.CommandContext(ctx, h.bin, args...)
	cmd.Dir, cmd.Env = h.dir, environment(append([]string{"PARLEY_URL=" + h.URL()}, h.variables...))
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		return out.String(), fmt.Errorf("parley %s: %w: %s", strings.Join(args, " "), err, errs.String())
	}
	return out.String(), nil
}

func tail(s string, n int) string { return s[max(len(s)-n, 0):] }

// Addr returns a loopback address without a listener. No other test gets the address until tb
// has ended.
func Addr(tb testing.TB) string {
	tb.Helper()
	return testenv.Addr(tb)
}
