//go:build !linux

package rabbittest

import (
	"os/exec"
	"syscall"
)

// stop and proceed are the BSD numbers of SIGSTOP and SIGCONT; Windows has no such signals.
const stop, proceed = syscall.Signal(17), syscall.Signal(19)

func dieWithUs(*exec.Cmd) {}

func awaitStop(int) error { return nil }
