package sqlitestore

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/parley-a2a/parley/internal/testing/testenv"
	"github.com/parley-a2a/parley/task"
)

// startDisk mounts a small separate disk for t.
func startDisk(t *testing.T) string {
	t.Helper()
	testenv.Root(t)
	dir := t.TempDir()
	err := unix.Mount("tmpfs", dir, "tmpfs", 0, "size=4m")
	testenv.Met(t, !errors.Is(err, unix.EPERM) && !errors.Is(err, unix.EACCES), "the right to mount")
	if err != nil {
		t.Fatalf("mount: %v", err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(dir, 0); err != nil {
			t.Errorf("unmount: %v", err)
		}
	})
	return dir
}

// TestFullDisk fills a real disk and makes room again.
func TestFullDisk(t *testing.T) {
	t.Parallel()
	dir := startDisk(t)
	db := openTest(t, filepath.Join(dir, "db"), Options{})
	tasks := db.Tasks()
	ballast := filepath.Join(dir, "ballast")
	write(t, ballast, strings.Repeat("x", 3<<20))

	var stored []task.Head
	var failure error
	for i := 0; failure == nil; i++ {
		e := created(1)
		e.Body = []byte(strings.Repeat("y", 20_000))
		c := step(t, newHead("anna", fmt.Sprint("t", i)), e)
		if failure = tasks.Append(t.Context(), c); failure == nil {
			stored = append(stored, c.Next)
		}
	}
	if !errors.Is(failure, task.ErrFull) {
		t.Errorf("Append on a full disk = %v, want ErrFull", failure)
	}
	if len(stored) == 0 {
		t.Fatal("nothing was stored before the disk was full")
	}
	for _, h := range stored {
		if _, err := tasks.Read(t.Context(), h.Key, 0); err != nil {
			t.Errorf("Read on a full disk = %v", err)
		}
	}
	page, err := tasks.List(t.Context(), &task.Query{Owner: "anna", Limit: 1})
	if err != nil || page.Total != len(stored) {
		t.Errorf("Total on a full disk = %d, %v, want %d", page.Total, err, len(stored))
	}

	if err := os.Remove(ballast); err != nil {
		t.Fatal(err)
	}
	put(t, tasks, stored[0], status(task.Completed, 2))
	put(t, tasks, newHead("anna", "after"), created(3))
	wantSound(t, db)
}

// TestReadOnlyDisk opens a file on a disk that was made read-only. It does not run in parallel
// with tests that start processes: a process has the files of the disk until its exec, and the
// disk is busy.
func TestReadOnlyDisk(t *testing.T) {
	dir := startDisk(t)
	path := filepath.Join(dir, "db")
	fill(t, path)
	if err := unix.Mount("tmpfs", dir, "tmpfs", unix.MS_REMOUNT|unix.MS_RDONLY, "size=4m"); err != nil {
		t.Fatalf("remount: %v", err)
	}
	_, err := Open(path, Options{})
	if !errors.Is(err, unix.EROFS) || !strings.Contains(err.Error(), path) {
		t.Errorf("Open on a read-only disk = %v; want an error that names the file", err)
	}
}
