package engine_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/parley-a2a/parley/internal/testing/hubtest"
)

// Like TestPartsDiskFails, on a disk that is full to the last byte.
func TestPartsDiskIsFull(t *testing.T) {
	disk := hubtest.Disk(t, "1m")
	dir, ballast := filepath.Join(disk, "parts"), filepath.Join(disk, "ballast")
	partsDiskFails(t, dir, "the disk is full", func() error {
		err := os.WriteFile(ballast, make([]byte, 2<<20), 0o600)
		if errors.Is(err, unix.ENOSPC) {
			return nil
		}
		return errors.Join(errors.New("the disk is not full"), err)
	}, func() error { return os.Remove(ballast) })
}
