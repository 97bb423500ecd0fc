package rabbittest

import (
	"os/exec"
	"syscall"

	"golang.org/x/sys/unix"
)

const stop, proceed = syscall.SIGSTOP, syscall.SIGCONT

// dieWithUs makes the kernel end the process when this one is killed.
func dieWithUs(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} }

// awaitStop waits until a child has stopped: on a busy machine that is later than the signal.
func awaitStop(pid int) error {
	for {
		err := unix.Waitid(unix.P_PID, pid, nil, unix.WSTOPPED|unix.WNOWAIT, nil)
		if err != unix.EINTR { //nolint:errorlint // a number of the system
			return err
		}
	}
}
