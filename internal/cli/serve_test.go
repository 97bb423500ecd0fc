package cli

import (
	"bytes"
	"os"
	"strings"
	"sync"
	"testing"
)

// readyLog keeps the log of a hub, and interrupts the hub once it is ready.
type readyLog struct {
	signals chan os.Signal

	mu   sync.Mutex
	text bytes.Buffer // guarded by mu
}

func (l *readyLog) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if bytes.Contains(p, []byte("msg=ready")) {
		l.signals <- os.Interrupt
	}
	return l.text.Write(p)
}

func (l *readyLog) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// TestServeWithoutOutput: a hub starts, too, if its output is a file on a full disk.
func TestServeWithoutOutput(t *testing.T) {
	t.Parallel()
	log := &readyLog{signals: make(chan os.Signal, 1)}
	o := OS{
		Stdin: strings.NewReader(""), Stdout: full{}, Stderr: log,
		Signals: func() (<-chan os.Signal, func()) { return log.signals, func() {} },
	}
	code := Main(t.Context(), []string{"serve", "--listen", "127.0.0.1:0", "--data", t.TempDir(), "--bus", "off"}, o)
	if text := log.String(); code != exitOK || !strings.Contains(text, `msg="the summary of the hub was not printed" error="disk is full"`) {
		t.Errorf("serve = %d with the log %s", code, text)
	}
}
