//go:build unix

package cli

import (
	"io/fs"
	"os"
	"syscall"
)

// renamesHeld reports whether a folder can be renamed while a file in it is open.
const renamesHeld = true

// ownedByUser reports whether a file belongs to this user, and no other user has access to it.
func ownedByUser(info fs.FileInfo) bool {
	s, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(s.Uid) == os.Getuid() && info.Mode().Perm()&0o077 == 0
}
