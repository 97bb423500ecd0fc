package child

import (
	"os/exec"
	"syscall"
)

// dieWithParent makes the kernel end the process when the bench dies for any reason.
func dieWithParent(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
}
