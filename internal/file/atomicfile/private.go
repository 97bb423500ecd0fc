package atomicfile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
)

// PrivateSize returns the size in bytes of a file with a key. The error is fs.ErrNotExist if it
// does not exist. A file that is not regular, or that other users may read, is an error; modes
// are ignored on Windows.
func PrivateSize(path string) (int64, error) {
	info, err := os.Lstat(path)
	if err != nil {
		return 0, err
	}
	switch mode := info.Mode(); {
	case !mode.IsRegular():
		return 0, errors.New("is not a regular file")
	case mode.Perm()&0o077 != 0 && runtime.GOOS != "windows":
		return 0, fmt.Errorf("others may read it (mode %04o); if none has, protect it with: chmod 600 %s", mode.Perm(), path)
	}
	return info.Size(), nil
}

// CreatePrivate writes a file with a key, which only its owner may read, and replaces an
// existing one. The file appears under its name once it is complete and synced. Unlike Replace
// it leaves no temporary file with a key: it removes that of an earlier crash. Only one process
// may create the file at a time.
func CreatePrivate(path string, text []byte) error {
	next := path + ".new"
	if err := writePrivate(next, text); err != nil {
		return err
	}
	if err := os.Rename(next, path); err != nil {
		return err
	}
	return SyncFolder(filepath.Dir(path))
}

func writePrivate(path string, text []byte) error {
	// A file left by a crash is incomplete or was never used.
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	return errors.Join(err, Sync(f), f.Close())
}
