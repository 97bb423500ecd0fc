package faults

import (
	"context"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"
)

// binary builds the real command, unless PARLEY_BINARY names one.
func binary(t *testing.T) string {
	t.Helper()
	if path := os.Getenv("PARLEY_BINARY"); path != "" {
		return path
	}
	path := filepath.Join(t.TempDir(), "parley")
	out, err := exec.Command("go", "build", "-o", path, "github.com/parley-a2a/parley/cmd/parley").CombinedOutput()
	if err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	return path
}

// hub is a process that can be killed and started again, with the same address and data.
type hub struct {
	t              *testing.T
	bin, addr, dir string

	mu   sync.Mutex // guards the fields below
	cmd  *exec.Cmd
	done chan struct{}
	logs []byte
}

// freeAddr returns a loopback address that nobody listens on.
func freeAddr(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// newHub starts a hub with a configuration.
func newHub(t *testing.T, bin, config string) *hub {
	t.Helper()
	h := &hub{t: t, bin: bin, addr: freeAddr(t), dir: t.TempDir()}
	if err := os.WriteFile(filepath.Join(h.dir, "parley.yaml"), []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	h.start()
	t.Cleanup(h.kill)
	return h
}

func (h *hub) url() string { return "http://" + h.addr }

// Write keeps the end of what the hub says.
func (h *hub) Write(b []byte) (int, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.logs = append(h.logs, b...)
	if extra := len(h.logs) - 64<<10; extra > 0 {
		h.logs = h.logs[extra:]
	}
	return len(b), nil
}

func (h *hub) said() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return string(h.logs)
}

func (h *hub) start() {
	cmd := exec.Command(h.bin, "serve", "--listen", h.addr, "--data", filepath.Join(h.dir, "data"), "--config", filepath.Join(h.dir, "parley.yaml"))
	cmd.Dir, cmd.Stdout, cmd.Stderr = h.dir, h, h
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		h.t.Errorf("start hub: %v", err)
		return
	}
	done := make(chan struct{})
	go func() { // ends with the process
		_ = cmd.Wait()
		close(done)
	}()
	h.mu.Lock()
	h.cmd, h.done = cmd, done
	h.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	ready := until(ctx, 5*time.Millisecond, func() bool {
		resp, err := http.Get(h.url() + "/readyz")
		if err != nil {
			return false
		}
		resp.Body.Close()
		return resp.StatusCode == http.StatusOK
	})
	if !ready {
		h.t.Errorf("hub is not ready after 30 s:\n%s", h.said())
	}
}

// kill ends the process at once.
func (h *hub) kill() {
	h.mu.Lock()
	cmd, done := h.cmd, h.done
	h.mu.Unlock()
	_ = cmd.Process.Signal(os.Kill)
	<-done
}

// until asks again and again until the answer is yes, or ctx ends.
func until(ctx context.Context, every time.Duration, yes func() bool) bool {
	tick := time.NewTicker(every)
	defer tick.Stop()
	for !yes() {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return false
		}
	}
	return true
}
