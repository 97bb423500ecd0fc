package datadir

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// Usable returns an error that wraps fs.ErrPermission if this process may not read and write the file or
// folder at path, with the remedy. A path without a file has no error, and neither has a read-only disk.
func Usable(path string) error {
	err := access(path, true)
	if !errors.Is(err, fs.ErrPermission) {
		return nil
	}
	info, failed := os.Stat(path)
	if failed != nil {
		return fmt.Errorf("%s: %w%s", path, err, rightsHint(path, err))
	}
	if owner, known := ownerOf(info); known && owner != os.Geteuid() {
		return fmt.Errorf("%s belongs to the user %d: %w%s", path, owner, err, rightsHint(path, err))
	}
	rights := "u+rw"
	if info.IsDir() {
		rights = "u+rwx"
	}
	return fmt.Errorf("%s has the mode %04o: %w; allow its user to change it with: chmod %s %[1]s", path, info.Mode().Perm(), err, rights)
}

// Owner returns the owner of the file or folder at path.
func Owner(path string) (uid int, known bool) {
	info, err := os.Stat(path)
	if err != nil {
		return 0, false
	}
	return ownerOf(info)
}

// Readable returns the first error that wraps fs.ErrPermission of a file or folder below root that
// this process may not read.
func Readable(root string) error {
	err := filepath.WalkDir(root, func(path string, _ fs.DirEntry, err error) error {
		if err == nil {
			err = access(path, false)
		}
		if errors.Is(err, fs.ErrPermission) {
			return fmt.Errorf("%s: %w", path, err)
		}
		return nil // missing files are found by their readers
	})
	return err
}
