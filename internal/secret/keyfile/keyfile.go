// Package keyfile keeps a key in a file that nobody else may read.
//
// # What it is
//
// [Size] looks at a file before it is read, [Create] makes one. What is in it is for
// others to know: internal/secret/seal and internal/secret/hubkey.
//
// # Guarantees
//
// A file appears under its name when it is complete and on the disk.
//
// # What it does not promise
//
// Windows has no mode of a file and cannot sync a folder: neither is done there.
//
// # Concurrency
//
// Only one process may create a file at one time.
//
// # Testing
//
// The tests are those of the packages that keep keys.
package keyfile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"

	"github.com/parley-a2a/parley/internal/file/atomicfile"
)

// Size returns how many bytes a file has. The error is fs.ErrNotExist if there is none, and
// says what is wrong if it is no regular file or others may read it.
func Size(path string) (int64, error) {
	info, err := os.Lstat(path)
	if err != nil {
		return 0, err
	}
	switch mode := info.Mode(); {
	case !mode.IsRegular():
		return 0, errors.New("is not a regular file")
	case mode.Perm()&0o077 != 0 && runtime.GOOS != "windows":
		return 0, fmt.Errorf("others may read it (mode %04o); if nobody has, protect it with: chmod 600 %s", mode.Perm(), path)
	}
	return info.Size(), nil
}

// Create makes a file with text in it, in the place of one that is there. What a crash
// leaves has a name that the next Create removes, so that keys do not lie about: that is
// why it is not atomicfile.Replace.
func Create(path string, text []byte) error {
	next := path + ".new"
	if err := write(next, text); err != nil {
		return err
	}
	if err := os.Rename(next, path); err != nil {
		return err
	}
	return atomicfile.SyncFolder(filepath.Dir(path))
}

func write(path string, text []byte) error {
	// What a crash has left is incomplete or was never used.
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	return errors.Join(err, f.Sync(), f.Close())
}
