//go:build linux

package command

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// firstPid returns the process id in the first line of the output.
func firstPid(t testing.TB, r *result) int {
	t.Helper()
	line, _, _ := strings.Cut(r.text(), "\n")
	pid, err := strconv.Atoi(line)
	if err != nil {
		t.Fatalf("output %q does not begin with a process number (said %q, error %v)", r.text(), r.said, r.err)
	}
	return pid
}

// wantGone checks that a process of the agent was reaped.
func wantGone(t testing.TB, pid int) {
	t.Helper()
	if err := syscall.Kill(pid, 0); !errors.Is(err, syscall.ESRCH) {
		t.Errorf("process %d: %v, want it gone", pid, fmt.Sprint(err))
	}
}
