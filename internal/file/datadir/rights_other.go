//go:build !unix

package datadir

import "io/fs"

// access knows no rights of files on this system.
func access(string, bool) error { return nil }

func ownerOf(fs.FileInfo) (uid int, known bool) { return 0, false }
