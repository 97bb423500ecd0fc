package testenv

import (
	"syscall"

	"golang.org/x/sys/unix"
)

const stop, proceed = syscall.SIGSTOP, syscall.SIGCONT

// awaitStop waits until a child has stopped.
func awaitStop(pid int) error {
	for {
		err := unix.Waitid(unix.P_PID, pid, nil, unix.WSTOPPED|unix.WNOWAIT, nil)
		if err != unix.EINTR { //nolint:errorlint // a number of the system
			return err
		}
	}
}
