//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package datadir

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"
)

// acquire opens and locks file. release does not remove the file: otherwise two processes could
// lock two files of the same name.
func acquire(file string) (*os.File, error) {
	f, err := os.OpenFile(file, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	return locked(f)
}

// acquireExisting locks a file that exists, without changing it. It returns nil if there is none.
func acquireExisting(file string) (*os.File, error) {
	f, err := os.Open(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return locked(f)
}

// locked locks an open file, or closes it.
func locked(f *os.File) (*os.File, error) {
	var err error
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
		err = fmt.Errorf("lock %s: %w", f.Name(), err)
	}
	return nil, errors.Join(err, f.Close())
}

// release unlocks the file before it closes it. A program that another goroutine is starting
// has the descriptor between its fork and its exec. During that time, closing alone would leave
// the folder locked.
func release(lock *os.File) error {
	return errors.Join(unlock(lock), lock.Close())
}

func unlock(lock *os.File) error {
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_UN); err != nil {
		return fmt.Errorf("unlock %s: %w", lock.Name(), err)
	}
	return nil
}

// heldHint returns nothing: the system releases the locks of ended processes.
func heldHint(string) string { return "" }

// gone reports whether h was a process of this machine, host, that has ended.
func gone(h Holder, host string) bool {
	return h.PID > 0 && h.Host == host && errors.Is(syscall.Kill(h.PID, 0), syscall.ESRCH)
}
