//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package sqlitestore

import (
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/parley-a2a/parley/internal/task"
)

// TestPipesAndLinksAreRefused: a pipe would let the start hang, and a file with two names would
// be used by two hubs.
func TestPipesAndLinksAreRefused(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	pipe := filepath.Join(dir, "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	one, two := filepath.Join(dir, "one"), filepath.Join(dir, "two")
	fill(t, one)
	if err := os.Link(one, two); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		pipe: "it is not a regular file", one: "it has 2 names (hard links)", two: "it has 2 names (hard links)",
	} {
		_, err := Open(path, Options{})
		if !errors.Is(err, ErrForeign) || !strings.Contains(err.Error(), want) {
			t.Errorf("Open(%s) = %v, want ErrForeign with %q", path, err, want)
		}
	}
	// These would hang, too.
	if _, err := Examine(t.Context(), pipe, func(Problem) {}); !errors.Is(err, ErrForeign) {
		t.Errorf("Examine of a pipe = %v, want ErrForeign", err)
	}
	if _, err := ReadNote(t.Context(), pipe, "note"); !errors.Is(err, ErrForeign) {
		t.Errorf("ReadNote of a pipe = %v, want ErrForeign", err)
	}
	if r, err := Salvage(t.Context(), pipe, filepath.Join(dir, "salvaged")); err != nil || r.Tasks != 0 {
		t.Errorf("Salvage of a pipe = %+v, %v; want nothing saved", r, err)
	}
}

// overwrite writes text at an offset of a file.
func overwrite(t *testing.T, path string, text string, at int64) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err == nil {
		_, err = f.WriteAt([]byte(text), at)
		err = errors.Join(err, f.Close())
	}
	if err != nil {
		t.Fatal(err)
	}
}

func rename(t *testing.T, from, to string) {
	t.Helper()
	if err := os.Rename(from, to); err != nil {
		t.Fatal(err)
	}
}

// TestRunningStoreNoticesItsFiles removes, replaces and shortens the files of an open store. The
// next write fails, later ones and Intact with it, and all that was acknowledged is in the
// folder afterwards, although the process is killed. It is the same if Intact looks first.
func TestRunningStoreNoticesItsFiles(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		spoil func(t *testing.T, path string)
		// saved is the suffix of the file with all data; "none" if the data was destroyed.
		saved string
	}{
		"log removed":        {func(t *testing.T, path string) { remove(t, path+"-wal") }, ""},
		"log moved":          {func(t *testing.T, path string) { rename(t, path+"-wal", path+"-wal.bak") }, ""},
		"log replaced":       {func(t *testing.T, path string) { write(t, path+"-new", "x"); rename(t, path+"-new", path+"-wal") }, ""},
		"log emptied":        {func(t *testing.T, path string) { cut(t, path+"-wal", 0) }, "none"},
		"log cut off":        {func(t *testing.T, path string) { halve(t, path+"-wal") }, "none"},
		"log begins anew":    {func(t *testing.T, path string) { overwrite(t, path+"-wal", "none", 16) }, ""},
		"file removed":       {func(t *testing.T, path string) { remove(t, path) }, rescuedSuffix},
		"file moved":         {func(t *testing.T, path string) { rename(t, path, path+".bak") }, rescuedSuffix},
		"file replaced":      {func(t *testing.T, path string) { write(t, path+"-new", "x"); rename(t, path+"-new", path) }, rescuedSuffix},
		"file emptied":       {func(t *testing.T, path string) { cut(t, path, 0) }, "none"},
		"all files removed":  {func(t *testing.T, path string) { remove(t, path); remove(t, path+"-wal"); remove(t, path+"-mark") }, rescuedSuffix},
		"checkpoint outside": {nil, ""},
	} {
		notices := func(t *testing.T, polled bool) {
			t.Parallel()
			db, err := Open(filepath.Join(t.TempDir(), "parley.db"), Options{})
			if err != nil {
				t.Fatal(err)
			}
			defer db.Close() //nolint:errcheck // its files are gone
			putTasks(t, db, 0, 30)
			checkpoint(t, db)
			putTasks(t, db, 30, 60)
			if err := db.Intact(t.Context()); err != nil {
				t.Fatalf("Intact = %v", err)
			}
			if tt.spoil == nil {
				checkpoint(t, db)
				if err := db.Intact(t.Context()); err != nil {
					t.Errorf("Intact = %v after a checkpoint by another program", err)
				}
				putTasks(t, db, 60, 61)
				return
			}
			tt.spoil(t, db.Path())
			if polled {
				if _, err := db.writer.files.look(); err != nil && !errors.Is(err, ErrReplaced) {
					t.Errorf("look = %v", err)
				}
				if err := db.Intact(t.Context()); !errors.Is(err, ErrReplaced) {
					t.Errorf("Intact before a write = %v, want ErrReplaced", err)
				}
			} else {
				db.writer.files.seen.looked = time.Time{} // as if it were a while ago
			}
			err = db.Tasks().Append(t.Context(), step(t, newHead("anna", "more"), created(1)))
			if !errors.Is(err, ErrReplaced) || !errors.Is(err, task.ErrUnavailable) {
				t.Fatalf("Append = %v, want ErrReplaced and ErrUnavailable", err)
			}
			if err := db.Tasks().Probe(t.Context()); !errors.Is(err, ErrReplaced) {
				t.Errorf("Probe = %v, want ErrReplaced", err)
			}
			db.work.Wait() // the data is saved now
			if err := db.Intact(t.Context()); !errors.Is(err, ErrReplaced) {
				t.Errorf("Intact = %v, want ErrReplaced", err)
			}
			wantSaved(t, db, tt.saved)
		}
		t.Run(name, func(t *testing.T) { notices(t, false) })
		t.Run(name+", polled", func(t *testing.T) { notices(t, true) })
	}
}

// TestLogBeginsAnewAfterAnError: after an error, such as that of a full disk, the store has
// another connection, which counts the beginnings of the log from zero. That is no change by
// another program. The same holds after a killed process, whose log a reader has recovered.
func TestLogBeginsAnewAfterAnError(t *testing.T) {
	t.Parallel()
	db := openTest(t, filepath.Join(t.TempDir(), "parley.db"), Options{})
	reader, err := openConn(connOptions{path: db.Path(), cache: 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	defer reader.close() //nolint:errcheck // it only keeps the log
	n := 0
	put := func() {
		t.Helper()
		putTasks(t, db, n, n+5)
		n += 5
		if err := db.Intact(t.Context()); err != nil {
			t.Fatalf("Intact = %v after %d tasks", err, n)
		}
	}
	begin := func() {
		t.Helper()
		if _, err := reader.number("PRAGMA wal_checkpoint(FULL)"); err != nil {
			t.Fatal(err)
		}
		put()
	}
	put()
	for range 3 {
		begin()
	}
	failure := errors.New("disk is full")
	if err := db.write(t.Context(), func(*writer) error { return failure }); !errors.Is(err, failure) {
		t.Fatalf("write = %v", err)
	}
	put()
	for range 3 {
		begin()
	}
}

// TestNewSaltAfterAnError: a connection that begins an empty log, as after a write that has
// failed, draws another salt. That is no change by another program, unlike one without an error.
func TestNewSaltAfterAnError(t *testing.T) {
	t.Parallel()
	for _, failed := range []bool{true, false} {
		f, err := openFiles(filepath.Join(t.TempDir(), "parley.db"))
		if err != nil {
			t.Fatal(err)
		}
		defer f.close() //nolint:errcheck // it is only read
		begin := func(number, salt uint32) error {
			head := binary.BigEndian.AppendUint32(make([]byte, 0, walHeadSize), 0x377f0682)
			head = binary.BigEndian.AppendUint32(append(head, make([]byte, 8)...), number)
			head = append(binary.BigEndian.AppendUint32(head, salt), make([]byte, 12)...)
			if err := os.WriteFile(f.path+"-wal", head, 0o600); err != nil {
				t.Fatal(err)
			}
			_, err := f.after()
			return err
		}
		if failed {
			f.writeFailed()
		}
		if err := begin(0, 77); err != nil {
			t.Fatal(err)
		}
		if err := begin(0, 4711); (err == nil) != failed {
			t.Errorf("after a failed write (%t), another salt gives %v", failed, err)
		}
		if !failed {
			continue
		}
		if err := begin(1, 4712); err != nil {
			t.Errorf("the next beginning gives %v", err)
		}
		if err := begin(2, 77); !errors.Is(err, ErrReplaced) {
			t.Errorf("a foreign salt after a regular beginning gives %v, want ErrReplaced", err)
		}
	}
}

// wantSaved opens a copy of the folder of db, without closing db, and counts the tasks.
func wantSaved(t *testing.T, db *DB, suffix string) {
	t.Helper()
	if suffix == "none" {
		return
	}
	to := filepath.Join(t.TempDir(), "parley.db")
	copyFiles(t, db.Path()+suffix, to)
	if suffix != "" {
		if !strings.Contains((*db.writer.gone.Load()).Error(), db.Path()+suffix) {
			t.Errorf("the error does not name the copy: %v", *db.writer.gone.Load())
		}
	}
	again := openTest(t, to, Options{})
	if got := found(t, again); got != 60 {
		t.Errorf("%d tasks were saved, want 60", got)
	}
	wantSound(t, again)
}

// TestIntactNoticesWithoutWrites: an idle store saves its data before it is stopped.
func TestIntactNoticesWithoutWrites(t *testing.T) {
	t.Parallel()
	db, err := Open(filepath.Join(t.TempDir(), "parley.db"), Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close() //nolint:errcheck // its files are gone
	putTasks(t, db, 0, 60)
	remove(t, db.Path()+"-wal")
	if err := db.Intact(t.Context()); !errors.Is(err, ErrReplaced) {
		t.Errorf("Intact = %v, want ErrReplaced", err)
	}
	db.work.Wait()
	wantSaved(t, db, "")
}
