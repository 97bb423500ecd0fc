//go:build !linux

package testenv

import "syscall"

// stop and proceed are the BSD numbers of SIGSTOP and SIGCONT; Windows has no such signals.
const stop, proceed = syscall.Signal(17), syscall.Signal(19)

func awaitStop(int) error { return nil }
