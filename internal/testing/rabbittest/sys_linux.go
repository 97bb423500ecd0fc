package rabbittest

import (
	"os/exec"
	"syscall"
)

const stop, proceed = syscall.SIGSTOP, syscall.SIGCONT

// dieWithUs lets the process end when this one is killed.
func dieWithUs(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} }
