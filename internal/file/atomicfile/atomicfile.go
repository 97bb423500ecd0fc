// Package atomicfile replaces files in one step.
//
// # How it works
//
// [Replace] writes a text to a temporary file in the same folder, and renames that to the
// file's name.
//
// # Guarantees
//
// Readers of the file see the old text or the new one, never a part of either, even after a
// power failure. If Replace returns an error, it leaves no temporary file, and the file has the
// old text, unless only the sync of the new one failed. A symbolic link is kept; its target is
// replaced.
//
// # Non-guarantees
//
// A process that is killed while it writes may leave a file whose name begins with a dot and
// the name of the file. Windows cannot sync a folder: there the file may have the old text
// after a power failure. Owner and extended attributes of the old file are not kept. For files
// with keys, use [CreatePrivate].
//
// # Concurrency
//
// Several processes may call Replace at once: the file then has one of the texts.
//
// # Testing
//
// The tests use real files, and simulate a power cut with [OnSync].
package atomicfile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
)

// Replace replaces the file at path with one that has the given text and mode, or creates it.
// The folder must exist.
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

// beside writes a temporary file next to the one at path, and returns its name.
func beside(path string, text []byte, mode fs.FileMode) (string, error) {
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+"-*") // readable by its owner alone
	if err != nil {
		return "", err
	}
	_, err = f.Write(text)
	if err = errors.Join(err, f.Chmod(mode), Sync(f), f.Close()); err != nil {
		return "", errors.Join(err, os.Remove(f.Name()))
	}
	return f.Name(), nil
}

// SyncFolder syncs the entries of a folder to the disk, where the system supports that.
func SyncFolder(path string) error {
	if runtime.GOOS == "windows" {
		return nil // Windows cannot sync folders
	}
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(Sync(f), f.Close())
}

// SyncFolders syncs the entries of a folder and of all folders in it.
func SyncFolders(path string) error {
	return filepath.WalkDir(path, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() {
			err = SyncFolder(path)
		}
		return err
	})
}
