//go:build unix

package command

import (
	"os"
	"os/exec"
	"syscall"
)

// ownGroup makes cmd start in a process group of its own.
//
// It does not ask for a signal at the death of the parent: that comes when the
// thread that started the program ends, not the process, and reaches no group.
func ownGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
}

// signalGroup signals the group that p leads. That there is none any more is no
// error.
func signalGroup(p *os.Process, s strength) {
	sig := syscall.SIGTERM
	if s == hardest {
		sig = syscall.SIGKILL
	}
	_ = syscall.Kill(-p.Pid, sig)
}
