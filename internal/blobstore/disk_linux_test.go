package blobstore_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/parley-a2a/parley/internal/blobstore"
	"github.com/parley-a2a/parley/internal/task"
	"github.com/parley-a2a/parley/internal/testing/hubtest"
)

// below returns all files and folders below dir.
func below(t *testing.T, dir string) (names []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		names = append(names, path)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}

// TestFullDisk stores parts on small disks until there is no room for the bytes, or for one of
// the names. A refused part leaves no files, stored parts remain readable, and puts succeed
// again once there is room.
func TestFullDisk(t *testing.T) {
	for room := 8; room < 24; room++ {
		t.Run(fmt.Sprint("files ", room), func(t *testing.T) {
			fullDisk(t, hubtest.Disk(t, fmt.Sprintf("1m,nr_inodes=%d", room)), 100)
		})
	}
	t.Run("bytes", func(t *testing.T) { fullDisk(t, hubtest.Disk(t, "1m"), 90<<10) })
}

func fullDisk(t *testing.T, disk string, size int) {
	dir := filepath.Join(disk, "parts")
	s := openStore(t, dir)
	k := func(n int) blobstore.Key { return blobstore.Key{Owner: "ann", Task: a2a.TaskID(fmt.Sprint("t", n))} }
	text := func(n int) string { return fmt.Sprint(n) + strings.Repeat("x", size) }
	var stored []blobstore.Part
	for {
		n := len(stored)
		before := below(t, dir)
		p, err := s.Put(k(n), blobstore.Part{}, strings.NewReader(text(n)))
		if err == nil {
			s.Keep(k(n), p.Digest)
			stored = append(stored, p)
			continue
		}
		if !errors.Is(err, task.ErrFull) {
			t.Fatalf("Put %d on a full disk = %v, want ErrFull", n, err)
		}
		if diff := cmp.Diff(before, below(t, dir)); diff != "" && n > 0 {
			t.Errorf("Put %d has left something (-before +after):\n%s", n, diff)
		}
		break
	}
	if tasks, contents := s.Len(); tasks != len(stored) || contents != len(stored) {
		t.Errorf("%d tasks with %d contents, want %d", tasks, contents, len(stored))
	}
	for n, p := range stored {
		if got, err := read(t, s, k(n), p.Digest); err != nil || got != text(n) {
			t.Errorf("part %d on a full disk: %d bytes, %v", n, len(got), err)
		}
	}
	if len(stored) == 0 {
		return // not even one part fits
	}
	if err := unix.Mount("tmpfs", disk, "tmpfs", unix.MS_REMOUNT, "size=8m,nr_inodes=1000"); err != nil {
		t.Fatal(err)
	}
	n := len(stored)
	p := put(t, s, k(n), text(n))
	for i, p := range append(stored, p) {
		if got, err := read(t, openStore(t, dir), k(i), p.Digest); err != nil || got != text(i) {
			t.Errorf("part %d, of a folder that is opened again: %d bytes, %v", i, len(got), err)
		}
	}
}

// TestLimitOfFiles runs a process with a limit on file sizes (ulimit -f): a larger part is
// refused, and the process continues.
func TestLimitOfFiles(t *testing.T) {
	const name = "PARLEY_TEST_LIMIT"
	if os.Getenv(name) == "" {
		c := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestLimitOfFiles$", "-test.v")
		c.Env = append(os.Environ(), name+"="+t.TempDir())
		if out, err := c.CombinedOutput(); err != nil {
			t.Errorf("%v:\n%s", err, out)
		}
		return
	}
	dir := os.Getenv(name)
	s := openStore(t, dir)
	if err := unix.Setrlimit(unix.RLIMIT_FSIZE, &unix.Rlimit{Cur: 64 << 10, Max: 64 << 10}); err != nil {
		t.Fatal(err)
	}
	k := blobstore.Key{Owner: "ann", Task: "t"}
	before := below(t, dir)
	if _, err := s.Put(k, blobstore.Part{}, strings.NewReader(strings.Repeat("x", 100<<10))); !errors.Is(err, task.ErrUnavailable) || !errors.Is(err, unix.EFBIG) {
		t.Errorf("Put above the limit = %v, want ErrUnavailable", err)
	}
	if diff := cmp.Diff(before, below(t, dir)); diff != "" {
		t.Errorf("something is left (-before +after):\n%s", diff)
	}
	p := put(t, s, k, "small")
	if got, err := read(t, s, k, p.Digest); err != nil || got != "small" {
		t.Errorf("a part below the limit: %q, %v", got, err)
	}
}
