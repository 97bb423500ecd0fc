package workertest

import (
	"os/exec"
	"sync"
	"syscall"
	"testing"
)

// Command returns a function that starts a program with args, the URL of the broker, the name of
// the agent, and the key of the hub.
func Command(program string, args ...string) func(t *testing.T, url, key string) Running {
	return func(t *testing.T, url, key string) Running {
		t.Helper()
		cmd := exec.Command(program, append(append([]string(nil), args...), url, Agent, key)...)
		cmd.Stdout, cmd.Stderr = t.Output(), t.Output()
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		wait := sync.OnceValue(cmd.Wait)
		t.Cleanup(func() {
			_ = cmd.Process.Kill() // it may have ended already
			_ = wait()
		})
		return Running{Ended: wait, Stop: func() {
			if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
				t.Errorf("stop the worker: %v", err)
			}
		}}
	}
}
