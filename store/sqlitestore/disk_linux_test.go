package sqlitestore

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/parley-a2a/parley/internal/task"
	"github.com/parley-a2a/parley/internal/testing/testenv"
)

// startDisk mounts a small separate disk for t, of a size as for mount.
func startDisk(t *testing.T, size string) string {
	t.Helper()
	testenv.Root(t)
	dir := t.TempDir()
	err := unix.Mount("tmpfs", dir, "tmpfs", 0, "size="+size)
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
	dir := startDisk(t, "4m")
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

// TestReadOnlyDisk opens, examines and copies files on a disk that was made read-only: one of a
// hub that has ended, one of a killed hub, and one without the index of its log, which SQLite
// cannot make there. It does not run in parallel with tests that start processes: a process has
// the files of the disk until its exec, and the disk is busy.
func TestReadOnlyDisk(t *testing.T) {
	dir := startDisk(t, "4m")
	path, crashed, bare := filepath.Join(dir, "db"), filepath.Join(dir, "crashed"), filepath.Join(dir, "bare")
	fill(t, path)
	from := killed(t)
	copyFiles(t, from, crashed)
	copyFiles(t, from, bare)
	write(t, crashed+"-shm", "")
	if err := unix.Mount("tmpfs", dir, "tmpfs", unix.MS_REMOUNT|unix.MS_RDONLY, "size=4m"); err != nil {
		t.Fatalf("remount: %v", err)
	}
	_, err := Open(path, Options{})
	if !errors.Is(err, unix.EROFS) || !strings.Contains(err.Error(), path) {
		t.Errorf("Open on a read-only disk = %v; want an error that names the file", err)
	}
	for _, file := range []struct {
		path  string
		tasks int64
	}{{path, 50}, {crashed, 60}} {
		if texts, n := problems(t, file.path); len(texts) > 0 || n.Tasks != file.tasks {
			t.Errorf("Examine(%s) has found %d tasks and %q, want %d tasks and no problem", file.path, n.Tasks, texts, file.tasks)
		}
		n, err := Copy(t.Context(), file.path, filepath.Join(t.TempDir(), "copy"), CopyOptions{})
		if err != nil || n.Tasks != file.tasks {
			t.Errorf("Copy(%s) = %d tasks, %v, want %d", file.path, n.Tasks, err, file.tasks)
		}
	}
	if _, err := Examine(t.Context(), bare, func(Problem) {}); !errors.Is(err, ErrUnread) || errors.Is(err, ErrDamaged) {
		t.Errorf("Examine without the index of the log = %v, want ErrUnread", err)
	}
}

// TestOlderLayoutIsNoDamage: a file of an earlier version may be sound.
func TestOlderLayoutIsNoDamage(t *testing.T) {
	t.Parallel()
	_, err := Examine(t.Context(), unzipped(t, "testdata/layout10.db.gz"), func(Problem) {})
	if !errors.Is(err, ErrOlder) || errors.Is(err, ErrDamaged) {
		t.Errorf("Examine of an earlier layout = %v, want ErrOlder", err)
	}
}

// put20 replaces a note with n times 20 kB, so that the log grows and the file does not. A write that
// fails must succeed the second time. It returns the number of those.
func put20(t *testing.T, db *DB, n int) (failed int) {
	t.Helper()
	store := db.AgentStore()
	for i := range n {
		note := bytes.Repeat([]byte{byte(i)}, 20_000) // SQLite does not write a page that is equal
		err := store.PutNote(t.Context(), "n", note)
		if errors.Is(err, task.ErrFull) {
			failed++
			err = store.PutNote(t.Context(), "n", note)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return failed
}

// checkpoints returns a function that does the work of the store's checkpointer, which may be late on a
// busy machine.
func checkpoints(t *testing.T, db *DB) (round func()) {
	t.Helper()
	cp := newCheckpointer(db.writer.opts, db.writer.files)
	c, err := openConn(cp.opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.close() })
	return func() {
		t.Helper()
		if err := cp.round(c); err != nil {
			t.Fatal(err)
		}
		if cp.tight.Load() {
			db.writer.checkpointer.tight.Store(true)
		}
	}
}

// openReader returns a connection that is not one of the store's.
func openReader(t *testing.T, db *DB) *conn {
	t.Helper()
	opts := db.writer.opts
	opts.readOnly = true
	c, err := openConn(opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.close() })
	return c
}

// walSize returns the size of the log of the file at path.
func walSize(t *testing.T, path string) int64 {
	t.Helper()
	info, err := os.Stat(path + "-wal")
	if err != nil {
		t.Fatal(err)
	}
	return info.Size()
}

// TestLogOnSmallDisk writes three times as much as a disk has room for, most of it again and again. The
// disk has no room for a log of its full size, so the log must stay small, and all writes succeed.
func TestLogOnSmallDisk(t *testing.T) {
	t.Parallel()
	path := filepath.Join(startDisk(t, "60m"), "db")
	db := openTest(t, path, Options{})
	round, reader := checkpoints(t, db), openReader(t, db)
	for range 20 {
		failed := put20(t, db, 440)
		if err := reader.script("BEGIN; SELECT count(*) FROM notes"); err != nil {
			t.Fatal(err)
		}
		failed += put20(t, db, 10)
		round() // not to the end of the log, as under load, because of the reader
		if err := reader.script("COMMIT"); err != nil {
			t.Fatal(err)
		}
		if failed > 0 {
			t.Errorf("%d writes found the disk full", failed)
		}
	}
	if size := walSize(t, path); size > 40<<20 {
		t.Errorf("the log has %d MiB on a disk of 60", size>>20)
	}
	wantSound(t, db)
}

// TestFullDiskShrinksLog fills the rest of a disk, of which the log occupies a part, and goes on writing.
// The writes that find the disk full fail, and the log gives its space back.
func TestFullDiskShrinksLog(t *testing.T) {
	t.Parallel()
	dir := startDisk(t, "200m")
	path := filepath.Join(dir, "db")
	db := openTest(t, path, Options{})
	put20(t, db, 50) // and below 90 more, so that the store's own checkpointer has nothing to do yet
	checkpoints(t, db)()
	before := walSize(t, path)
	if err := os.WriteFile(filepath.Join(dir, "ballast"), make([]byte, 256<<20), 0o600); !errors.Is(err, unix.ENOSPC) {
		t.Fatalf("fill the disk: %v", err)
	}
	if n := put20(t, db, 90); n == 0 {
		t.Error("no write found the disk full")
	}
	if size := walSize(t, path); size > before+1<<20 {
		t.Errorf("the log has grown from %d to %d bytes on a full disk", before, size)
	}
	wantSound(t, db)
}

// TestLogInUse has the log emptied while a reader needs it, and after that.
func TestLogInUse(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "db")
	db := openTest(t, path, Options{})
	reader := openReader(t, db)
	put20(t, db, 3)
	if err := reader.script("BEGIN; SELECT count(*) FROM notes"); err != nil {
		t.Fatal(err)
	}
	put20(t, db, 1)
	for range 3 {
		db.writer.checkpointer.tight.Store(true)
		put20(t, db, 1)
	}
	if walSize(t, path) == 0 {
		t.Error("the log is empty while a reader needs it")
	}
	if err := reader.script("COMMIT"); err != nil {
		t.Fatal(err)
	}
	db.writer.checkpointer.tight.Store(true)
	put20(t, db, 1)
	if err := db.write(t.Context(), func(*writer) error { return nil }); err != nil { // the writer has emptied the log before
		t.Fatal(err)
	}
	if size := walSize(t, path); size > 100<<10 {
		t.Errorf("the log has %d bytes after the reader has left", size)
	}
	wantSound(t, db)
}
