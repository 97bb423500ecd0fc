package testenv

import (
	"os"
	"testing"
)

// Suspend stops a child until the returned function is called. On Linux the child has stopped when Suspend
// returns, which on a busy machine is later than the signal.
func Suspend(tb testing.TB, pid int) (thaw func()) {
	tb.Helper()
	p, err := os.FindProcess(pid)
	if err == nil {
		err = p.Signal(stop)
	}
	if err == nil {
		err = awaitStop(pid)
	}
	if err != nil {
		tb.Fatalf("suspend process %d: %v", pid, err)
	}
	return func() {
		if err := p.Signal(proceed); err != nil {
			tb.Errorf("resume process %d: %v", pid, err)
		}
	}
}
