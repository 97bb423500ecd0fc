//go:build !(linux || darwin || freebsd || netbsd || openbsd || dragonfly)

package datadir

import (
	"errors"
	"io/fs"
	"os"
)

// acquire creates file, which must not exist.
func acquire(file string) (*os.File, error) {
	f, err := os.OpenFile(file, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return nil, errHeld
	}
	return f, err
}

// acquireExisting returns nil if there is no lock file. Otherwise another process may hold it.
func acquireExisting(file string) (*os.File, error) {
	if _, err := os.Lstat(file); errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return nil, errHeld
}

// release removes the file that acquire created.
func release(lock *os.File) error {
	return errors.Join(lock.Close(), os.Remove(lock.Name()))
}

// heldHint returns instructions for removing the lock of a crashed process.
func heldHint(file string) string {
	return ": if that process is gone, remove " + file
}

// gone returns false, because the state of the holder is unknown.
func gone(Holder, string) bool { return false }
