//go:build unix

package server

import (
	"math"
	"os"
	"syscall"
)

// freeDescriptors returns the number of file descriptors that the process may still open; zero if
// it is unknown.
func freeDescriptors() int {
	var l syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &l); err != nil {
		return 0
	}
	open, err := os.ReadDir("/dev/fd")
	if err != nil {
		return 0
	}
	return max(1, int(min(uint64(l.Cur), math.MaxInt32))-len(open)) //nolint:unconvert // signed on some systems
}
