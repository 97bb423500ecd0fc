//go:build unix

package cli

import (
	"io/fs"
	"os"
	"syscall"
)

// renamesHeld says that a folder can be renamed in which a file is open.
const renamesHeld = true

// isOurs reports whether a file is this user's, and closed to all others.
func isOurs(info fs.FileInfo) bool {
	s, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(s.Uid) == os.Getuid() && info.Mode().Perm()&0o077 == 0
}
