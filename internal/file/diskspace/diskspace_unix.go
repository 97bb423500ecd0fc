//go:build linux || darwin

package diskspace

import (
	"os"
	"path/filepath"
	"syscall"
)

// Of returns the free and total bytes of the disk of a folder, which need not exist yet;
// zeros if they cannot be determined.
func Of(path string) (free, total uint64) {
	path, err := filepath.Abs(path)
	if err != nil {
		return 0, 0
	}
	for {
		if _, err := os.Stat(path); err == nil || path == filepath.Dir(path) {
			break
		}
		path = filepath.Dir(path)
	}
	var s syscall.Statfs_t
	if err := syscall.Statfs(path, &s); err != nil {
		return 0, 0
	}
	size := uint64(s.Bsize)
	return s.Bavail * size, s.Blocks * size
}
