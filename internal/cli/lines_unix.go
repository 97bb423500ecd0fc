//go:build unix

package cli

import (
	"os"

	"golang.org/x/sys/unix"
)

// linesOf returns the number of lines of a terminal; 0 if it is not known.
func linesOf(f *os.File) int {
	size, err := unix.IoctlGetWinsize(int(f.Fd()), unix.TIOCGWINSZ)
	if err != nil {
		return 0
	}
	return int(size.Row)
}
