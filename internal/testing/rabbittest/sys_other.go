//go:build !linux

package rabbittest

import (
	"os/exec"
	"syscall"
)

// The numbers are those of BSD; Windows has no such signals.
const stop, proceed = syscall.Signal(17), syscall.Signal(19)

func dieWithUs(*exec.Cmd) {}
