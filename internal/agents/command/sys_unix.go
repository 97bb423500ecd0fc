//go:build unix

package command

import (
	"os"
	"os/exec"
	"syscall"
)

// ownGroup makes cmd start in a process group of its own.
//
// It requests no signal at the death of the parent: that signal is sent when the thread that
// started the program ends, not the process, and it does not reach the group.
func ownGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
}

// signalGroup sends a signal to the group that p leads. It ignores an error if the group has
// ended.
func signalGroup(p *os.Process, s strength) {
	sig := syscall.SIGTERM
	if s == hardest {
		sig = syscall.SIGKILL
	}
	_ = syscall.Kill(-p.Pid, sig)
}
