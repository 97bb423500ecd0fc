// Package atomicfile replaces files in one step.
//
// # What it is
//
// [Replace] writes a text beside a file, and renames it to the file's name.
//
// # Guarantees
//
// Whoever reads the file sees the old text or the new one, never a part of either, also
// after the machine has lost its power. If Replace returns an error, nothing is left
// beside the file, and its text is the old one, unless only the disk did not confirm the
// new one. A symbolic link stays; what it points to is replaced.
//
// # What it does not promise
//
// A process that is killed while it writes may leave a file whose name begins with a dot
// and that of the file. Windows cannot sync a folder: there the text may be the old one
// after a loss of power. Owner and extended attributes of the old file are not kept.
// Keys are for [CreatePrivate].
//
// # Concurrency
//
// Replace may be called by several processes at once: one of the texts is there in the
// end.
//
// # Testing
//
// The tests use real files.
package atomicfile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
)

// Replace puts a file with text and mode in the place of the one at path, or makes it.
// The folder must be there.
func Replace(path string, text []byte, mode fs.FileMode) error {
	if err := replace(path, text, mode); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return nil
}

func replace(path string, text []byte, mode fs.FileMode) error {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real
	}
	next, err := beside(path, text, mode)
	if err != nil {
		return err
	}
	if err := os.Rename(next, path); err != nil {
		return errors.Join(err, os.Remove(next))
	}
	return SyncFolder(filepath.Dir(path))
}

// beside writes a file next to the one at path, and returns its name.
func beside(path string, text []byte, mode fs.FileMode) (string, error) {
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+"-*") // for its owner alone
	if err != nil {
		return "", err
	}
	_, err = f.Write(text)
	if err = errors.Join(err, f.Chmod(mode), f.Sync(), f.Close()); err != nil {
		return "", errors.Join(err, os.Remove(f.Name()))
	}
	return f.Name(), nil
}

// SyncFolder returns when the names in a folder are on the disk, where that can be had.
func SyncFolder(path string) error {
	if runtime.GOOS == "windows" {
		return nil // folders cannot be synced there
	}
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}
