package datadir

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// TestFolderOfAnotherUser: a folder of another user is an error with its remedy.
func TestFolderOfAnotherUser(t *testing.T) {
	t.Parallel()
	parent := t.TempDir()
	if err := os.Chmod(parent, 0o500); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(parent, "data")
	opened := make(chan error, 1)
	go func() { // sends once
		runtime.LockOSThread() // and never unlocked: the thread, which belongs to another user, ends with the goroutine
		if os.Geteuid() == 0 { // the superuser may write to each folder
			const nobody = 65534
			if _, err := unix.SetfsuidRetUid(nobody); err != nil {
				opened <- err
				return
			}
		}
		_, err := Open(path)
		opened <- err
	}()
	err := <-opened
	if want := fmt.Sprintf("as the user %d: give the folder to that user (chown -R %[1]d %s)", os.Geteuid(), path); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("Open: %v, want an error with %q", err, want)
	}
}
