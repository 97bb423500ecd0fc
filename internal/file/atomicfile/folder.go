package atomicfile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// MkdirAll is like os.MkdirAll, and syncs the names of the folders, so that they outlive a power
// cut. It syncs the name of the last one also if it exists already: the process that created it
// may have been killed before.
func MkdirAll(path string, mode fs.FileMode) error {
	path = filepath.Clean(path)
	created := missing(path)
	if err := os.MkdirAll(path, mode); err != nil {
		return err
	}
	for _, folder := range created {
		if err := SyncFolder(filepath.Dir(folder)); err != nil {
			return fmt.Errorf("sync folder: %w", err)
		}
	}
	if err := SyncFolder(filepath.Dir(path)); err != nil && !errors.Is(err, fs.ErrPermission) {
		return fmt.Errorf("sync folder: %w", err)
	}
	return nil
}

// missing returns the folders of path that do not exist.
func missing(path string) (folders []string) {
	for {
		if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
			return folders
		}
		folders = append(folders, path)
		parent := filepath.Dir(path)
		if parent == path {
			return folders
		}
		path = parent
	}
}
