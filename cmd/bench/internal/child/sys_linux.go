package child

import (
	"os/exec"
	"syscall"
)

// dieWithParent makes the process end when the bench dies, however that happens.
func dieWithParent(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
}
