//go:build unix

package datadir

import (
	"io/fs"
	"os"
	"syscall"
)

// Modes of access(2).
const (
	mayExecute = 1
	mayWrite   = 2
	mayRead    = 4
)

// access returns an error if this process may not read the file or folder at path or, if write is set,
// not change it.
func access(path string, write bool) error {
	mode := uint32(mayRead)
	if write {
		mode |= mayWrite
	}
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		mode |= mayExecute
	}
	if err := syscall.Access(path, mode); err != nil {
		return err
	}
	return nil
}

// ownerOf returns the owner of a file.
func ownerOf(info fs.FileInfo) (uid int, known bool) {
	s, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return 0, false
	}
	return int(s.Uid), true
}
