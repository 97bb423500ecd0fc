//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package datadir

import (
	"errors"
	"fmt"
	"os"
	"syscall"
)

// acquire opens and locks file. The file stays when the lock goes: to remove it
// would let two processes lock two files of the same name.
func acquire(file string) (*os.File, error) {
	f, err := os.OpenFile(file, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	for {
		err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if !errors.Is(err, syscall.EINTR) {
			break
		}
	}
	switch {
	case err == nil:
		return f, nil
	case errors.Is(err, syscall.EWOULDBLOCK):
		err = errHeld
	default:
		err = fmt.Errorf("lock %s: %w", file, err)
	}
	return nil, errors.Join(err, f.Close())
}

// release unlocks before it closes: a program that another goroutine is starting
// just now has the descriptor between its fork and its exec, and while it does,
// closing alone would leave the folder locked.
func release(lock *os.File) error {
	return errors.Join(unlock(lock), lock.Close())
}

func unlock(lock *os.File) error {
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_UN); err != nil {
		return fmt.Errorf("unlock %s: %w", lock.Name(), err)
	}
	return nil
}

// heldHint adds what to do about a lock that nobody seems to hold.
func heldHint(string) string { return "" }

// gone reports whether h was a process of this machine, host, and is no more.
func gone(h Holder, host string) bool {
	return h.PID > 0 && h.Host == host && errors.Is(syscall.Kill(h.PID, 0), syscall.ESRCH)
}
