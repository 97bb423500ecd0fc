package chaos

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
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

// hub is a running process.
type hub struct {
	t    *testing.T
	cmd  *exec.Cmd
	url  string
	logs *lastLines
	done chan struct{}
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

// startHub starts the binary on a data folder, with further flags, and waits until
// it is ready. It returns how long that took.
func startHub(t *testing.T, bin, addr, data string, flags ...string) (*hub, time.Duration) {
	t.Helper()
	began := time.Now()
	h := &hub{t: t, url: "http://" + addr, logs: new(lastLines), done: make(chan struct{})}
	h.cmd = exec.Command(bin, append([]string{"serve", "--listen", addr, "--data", data}, flags...)...)
	h.cmd.Stdout, h.cmd.Stderr = h.logs, h.logs
	h.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := h.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		_ = h.cmd.Wait()
		close(h.done)
	}()
	t.Cleanup(h.kill)
	h.awaitReady()
	return h, time.Since(began)
}

func (h *hub) awaitReady() {
	h.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		resp, err := http.Get(h.url + "/readyz")
		if err == nil {
			resp.Body.Close()
			if resp.StatusCode == http.StatusOK {
				return
			}
		}
		select {
		case <-tick.C:
		case <-h.done:
			h.t.Fatalf("hub ended:\n%s", h.logs)
		case <-ctx.Done():
			h.t.Fatalf("hub is not ready after 30 s:\n%s", h.logs)
		}
	}
}

// kill ends the process at once and waits for it.
func (h *hub) kill() {
	_ = h.cmd.Process.Signal(os.Kill)
	<-h.done
}

// lastLines keeps the end of what a process printed.
type lastLines struct{ text []byte }

func (l *lastLines) Write(b []byte) (int, error) {
	l.text = append(l.text, b...)
	if extra := len(l.text) - 256<<10; extra > 0 {
		l.text = l.text[extra:]
	}
	return len(b), nil
}

func (l *lastLines) String() string { return string(l.text) }

// event is one server-sent event.
type event struct {
	id   string
	data string
}

// events reads server-sent events and calls f for each, until f has seen enough or
// the connection ends.
func events(r *bufio.Reader, f func(event) bool) error {
	var ev event
	for {
		line, err := r.ReadString('\n')
		if err != nil {
			return err
		}
		line = strings.TrimRight(line, "\r\n")
		switch {
		case line == "" && ev.data != "":
			if !f(ev) {
				return nil
			}
			ev = event{}
		case strings.HasPrefix(line, "id:"):
			ev.id = strings.TrimSpace(line[3:])
		case strings.HasPrefix(line, "data:"):
			ev.data += strings.TrimSpace(line[5:])
		}
	}
}

func post(ctx context.Context, url, body string, header ...string) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	for i := 0; i+1 < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	return http.DefaultClient.Do(req)
}

func message(id, text string) string {
	return fmt.Sprintf(`{"message":{"messageId":%q,"role":"ROLE_USER","parts":[{"text":%q}]}}`, id, text)
}
