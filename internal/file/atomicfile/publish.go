package atomicfile

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// Publish gives the complete and synced file part its name, and syncs that. Both are in one folder.
// It replaces no file: the error is then fs.ErrExist.
func Publish(part, path string) error {
	err := os.Link(part, path)
	if err == nil {
		err = os.Remove(part)
	} else if !errors.Is(err, fs.ErrExist) {
		err = rename(part, path) // some file systems have no links
	}
	if err != nil {
		return err
	}
	return SyncFolder(filepath.Dir(path))
}

func rename(part, path string) error {
	if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
		return errors.Join(err, fs.ErrExist)
	}
	return os.Rename(part, path)
}
