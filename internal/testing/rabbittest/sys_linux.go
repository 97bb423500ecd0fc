package rabbittest

import (
	"os/exec"
	"syscall"
)

// dieWithUs makes the kernel end the process when this one is killed.
func dieWithUs(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} }
