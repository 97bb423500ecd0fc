package atomicfile

import "os"

// OnSync is called with the path of each file or folder after it was synced. It is for tests
// that simulate a power cut, which set it before they begin. If nil, nothing is called.
var OnSync func(path string)

// Sync syncs the content of f to the disk. The entry of f in its folder needs a sync of its own,
// see [SyncFolder].
func Sync(f *os.File) error {
	if err := f.Sync(); err != nil {
		return err
	}
	if OnSync != nil {
		OnSync(f.Name())
	}
	return nil
}
