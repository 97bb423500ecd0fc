package hubtest

import (
	"fmt"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/parley-a2a/parley/internal/testing/testenv"
)

// Disk mounts a small disk, with a size such as "12m", and returns its folder. It is unmounted
// at the end of the test. Only root may mount disks.
func Disk(tb testing.TB, size string) string {
	tb.Helper()
	testenv.Root(tb)
	dir := tb.TempDir()
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "size="+size); err != nil {
		testenv.Met(tb, false, fmt.Sprintf("the right to mount (%v)", err))
	}
	tb.Cleanup(func() {
		if err := unix.Unmount(dir, unix.MNT_DETACH); err != nil {
			tb.Errorf("unmount: %v", err)
		}
	})
	return dir
}
