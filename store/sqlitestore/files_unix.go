//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package sqlitestore

import (
	"errors"
	"io/fs"
	"os"
	"syscall"
)

// links returns the number of names of a file.
func links(info fs.FileInfo) uint64 {
	if s, ok := info.Sys().(*syscall.Stat_t); ok {
		return uint64(s.Nlink)
	}
	return 1
}

// examine returns the size of an open file, or an error if it has no name any more. It allocates
// no memory.
func examine(f *os.File) (int64, error) {
	var s syscall.Stat_t
	for {
		err := syscall.Fstat(int(f.Fd()), &s)
		switch {
		case errors.Is(err, syscall.EINTR):
			continue
		case err != nil:
			return 0, err
		case s.Nlink == 0:
			return 0, errors.New("it was removed or replaced")
		}
		return s.Size, nil
	}
}
