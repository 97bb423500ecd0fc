package sqlitestore

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/internal/task"
	"github.com/parley-a2a/parley/internal/testing/powercut"
)

// suffixes are those of the files of a store.
var suffixes = []string{"", "-wal", "-mark"}

// copyFiles copies the files of a store after the process was killed.
func copyFiles(t *testing.T, from, to string) {
	t.Helper()
	for _, suffix := range suffixes {
		text, err := os.ReadFile(from + suffix)
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		write(t, to+suffix, string(text))
	}
}

// contents returns the files in a folder, without the index of the log that SQLite makes, and
// without empty logs.
func contents(t *testing.T, dir string) map[string]string {
	t.Helper()
	found := make(map[string]string)
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		text := read(t, filepath.Join(dir, e.Name()))
		if !strings.HasSuffix(e.Name(), "-shm") && (text != "" || !strings.HasSuffix(e.Name(), "-wal")) {
			found[e.Name()] = text
		}
	}
	return found
}

// killed returns the path of a store whose process was killed after 60 tasks, 30 of which are
// only in the log.
func killed(t *testing.T) string {
	t.Helper()
	db := newTest(t)
	putTasks(t, db, 0, 30)
	checkpoint(t, db)
	putTasks(t, db, 30, 60)
	path := filepath.Join(t.TempDir(), "parley.db")
	copyFiles(t, db.Path(), path)
	return path
}

func putTasks(t *testing.T, db *DB, from, to int) {
	t.Helper()
	for i := from; i < to; i++ {
		put(t, db.Tasks(), newHead("anna", fmt.Sprint("t", i)), created(task.Millis(i+1)))
	}
}

// checkpoint moves the log into the file, as another program may do.
func checkpoint(t *testing.T, db *DB) {
	t.Helper()
	c, err := openConn(connOptions{path: db.Path(), cache: 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	if busy, err := c.number("PRAGMA wal_checkpoint(TRUNCATE)"); busy != 0 || err != nil {
		t.Fatalf("checkpoint: busy %d, %v", busy, err)
	}
	if err := c.close(); err != nil {
		t.Fatal(err)
	}
}

// found returns the number of tasks that killed has stored and that db has.
func found(t *testing.T, db *DB) (n int) {
	t.Helper()
	for i := range 60 {
		_, err := db.Tasks().Head(t.Context(), "anna", a2a.TaskID(fmt.Sprint("t", i)))
		switch {
		case err == nil:
			n++
		case !errors.Is(err, task.ErrNotFound):
			t.Errorf("Head of task %d: %v", i, err)
		}
	}
	return n
}

// newer gives the files at path 60 commits in the file, and some more in a log of their own.
func newer(t *testing.T, path string) {
	t.Helper()
	work := filepath.Join(t.TempDir(), "work.db")
	copyFiles(t, path, work)
	db := openTest(t, work, Options{})
	checkpoint(t, db)
	putTasks(t, db, 100, 110)
	copyFiles(t, work, path)
}

func remove(t *testing.T, path string) {
	t.Helper()
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
}

func cut(t *testing.T, path string, size int64) {
	t.Helper()
	if err := os.Truncate(path, size); err != nil {
		t.Fatal(err)
	}
}

// halve cuts the second half off a file.
func halve(t *testing.T, path string) {
	t.Helper()
	cut(t, path, int64(len(read(t, path)))/2)
}

// TestLossIsRefused removes, empties and replaces the files of a killed process. Open refuses
// with the difference and changes nothing. If the loss is accepted, it opens the rest, and
// another time without a word.
func TestLossIsRefused(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		spoil func(t *testing.T, path string)
		left  int // tasks
		text  string
	}{
		"log removed": {func(t *testing.T, path string) { remove(t, path+"-wal") }, 30, "the file ends with commit 30, and the mark knows commit 60 of 20"},
		"log emptied": {func(t *testing.T, path string) { cut(t, path+"-wal", 0) }, 30, "30 commits are missing"},
		"log cut off": {func(t *testing.T, path string) { halve(t, path+"-wal") }, 44, "commits are missing"},
		"log replaced by zeros": {func(t *testing.T, path string) {
			write(t, path+"-wal", strings.Repeat("\x00", len(read(t, path+"-wal"))))
		}, 30, "30 commits are missing"},
		"file removed":         {func(t *testing.T, path string) { remove(t, path) }, 0, "knows 60 commits"},
		"file emptied":         {func(t *testing.T, path string) { cut(t, path, 0) }, 0, "knows 60 commits"},
		"file and log removed": {func(t *testing.T, path string) { remove(t, path); remove(t, path+"-wal") }, 0, "knows 60 commits"},
		"file and mark removed": {
			func(t *testing.T, path string) { remove(t, path); remove(t, path+"-mark") }, 0,
			"its write-ahead log is there",
		},
		"file emptied, mark damaged": {
			func(t *testing.T, path string) { cut(t, path, 0); write(t, path+"-mark", "x") }, 0,
			"the mark of an earlier one cannot be read",
		},
		"older copy": {func(t *testing.T, path string) {
			remove(t, path+"-wal")
			db := openTest(t, path, Options{AcceptLoss: true})
			mark := read(t, path+"-mark")
			putTasks(t, db, 30, 40)
			if err := db.Close(); err != nil {
				t.Fatal(err)
			}
			if mark == read(t, path+"-mark") {
				t.Error("the mark was not written")
			}
			write(t, path+"-mark", string((&mark60{t, path}).text()))
		}, 40, "the file ends with commit 40, and the mark knows commit 60"},
		"older file beside a newer log": {func(t *testing.T, path string) {
			old := read(t, path)
			newer(t, path)
			write(t, path, old)
		}, 30, "the file is older than its write-ahead log: it has 30 commits, and the log begins after commit 60"},
		"older file beside a newer log without a mark": {func(t *testing.T, path string) {
			old := read(t, path)
			newer(t, path)
			write(t, path, old)
			remove(t, path+"-mark")
		}, 30, "the log begins after commit 60"},
		"older file beside a log that begins again": {func(t *testing.T, path string) {
			old := read(t, path)
			newer(t, path)
			text := []byte(read(t, path+"-wal"))
			write(t, path, old)
			write(t, path+"-wal", string(text[:len(text)/2])) // and was cut off
		}, 30, "the log begins after commit 60"},
		"file of an older version beside a newer log": {func(t *testing.T, path string) {
			newer(t, path)
			write(t, path, read(t, unzipped(t, "testdata/layout10.db.gz")))
		}, 0, "it has 0 commits, and the log begins after commit 60"},
		"log of another file": {func(t *testing.T, path string) {
			write(t, path+"-wal", read(t, killed(t)+"-wal"))
		}, 30, "the write-ahead log belongs to another file"},
		"file of another folder": {func(t *testing.T, path string) {
			remove(t, path+"-wal")
			other := filepath.Join(t.TempDir(), "db")
			fill(t, other)
			write(t, path, read(t, other))
		}, 50, "the file belongs to another data folder"},
		"file of an older version": {func(t *testing.T, path string) {
			remove(t, path)
			remove(t, path+"-wal")
			write(t, path, read(t, unzipped(t, "testdata/layout10.db.gz")))
		}, 0, "knows 60 commits"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := killed(t)
			tt.spoil(t, path)
			before := contents(t, filepath.Dir(path))
			_, err := Open(path, Options{})
			if !errors.Is(err, ErrLost) || !strings.Contains(err.Error(), path) || !strings.Contains(err.Error(), tt.text) {
				t.Fatalf("Open = %v, want ErrLost with %q", err, tt.text)
			}
			if after := contents(t, filepath.Dir(path)); !maps.Equal(before, after) {
				t.Error("the files were changed by the refusal")
			}
			for _, accept := range []bool{true, false} {
				db, err := Open(path, Options{AcceptLoss: accept})
				if err != nil {
					t.Fatalf("Open with AcceptLoss %v: %v", accept, err)
				}
				if (db.Loss() != nil) != accept {
					t.Errorf("Loss with AcceptLoss %v = %v", accept, db.Loss())
				}
				if got := found(t, db); got != tt.left {
					t.Errorf("%d tasks are left, want %d", got, tt.left)
				}
				if err := db.Close(); err != nil {
					t.Error(err)
				}
			}
		})
	}
}

// mark60 makes a mark for the store at path that claims 60 commits.
type mark60 struct {
	t    *testing.T
	path string
}

func (m *mark60) text() []byte {
	m.t.Helper()
	claim, err := readMark(m.path)
	if err != nil || claim == nil {
		m.t.Fatalf("readMark = %v, %v", claim, err)
	}
	claim.commits = 60
	return claim.appendTo(nil)
}

// TestLogOfALostFileIsKept: SQLite removes the log beside an empty file.
func TestLogOfALostFileIsKept(t *testing.T) {
	t.Parallel()
	path := killed(t)
	log := read(t, path+"-wal")
	cut(t, path, 0)
	openTest(t, path, Options{AcceptLoss: true})
	if got := read(t, path+"-wal.old1"); got != log {
		t.Errorf("the log has %d bytes, want %d", len(got), len(log))
	}
}

// TestWholeFilesOpen opens files whose marks claim less than they have, or nothing, as after a
// kill, a power cut or an update.
func TestWholeFilesOpen(t *testing.T) {
	t.Parallel()
	for name, spoil := range map[string]func(t *testing.T, path string){
		"killed":       func(*testing.T, string) {},
		"mark missing": func(t *testing.T, path string) { remove(t, path+"-mark") },
		"mark emptied": func(t *testing.T, path string) { write(t, path+"-mark", "") },
		"mark of zeros": func(t *testing.T, path string) {
			write(t, path+"-mark", strings.Repeat("\x00", markSize))
		},
		"mark of the past": func(t *testing.T, path string) {
			claim, err := readMark(path)
			if err != nil {
				t.Fatal(err)
			}
			claim.commits, claim.at = 0, 0
			write(t, path+"-mark", string(claim.appendTo(nil)))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := killed(t)
			spoil(t, path)
			for range 2 {
				db, err := Open(path, Options{})
				if err != nil {
					t.Fatal(err)
				}
				if got := found(t, db); got != 60 || db.Loss() != nil {
					t.Errorf("%d tasks are left, want 60; Loss = %v", got, db.Loss())
				}
				if err := db.Close(); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

// TestPowerCutIsNoLoss cuts the power after each of some commits. The mark is not synced, so an
// older one is left, and the file, which SQLite has synced, opens.
func TestPowerCutIsNoLoss(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	disk := powercut.Watch(t, dir)
	db := openTest(t, filepath.Join(dir, "db"), Options{})
	for i := range 10 {
		putTasks(t, db, i, i+1)
		left := filepath.Join(disk.Cut(t), "db")
		if m, err := readMark(left); err != nil || m == nil || m.store == "" || m.commits > int64(i+1) {
			t.Errorf("after a power cut the mark is %+v, %v", m, err)
		}
		for _, suffix := range []string{"", "-wal"} {
			write(t, left+suffix, read(t, db.Path()+suffix))
		}
		if got := found(t, openTest(t, left, Options{})); got != i+1 {
			t.Errorf("after a power cut %d tasks are left, want %d", got, i+1)
		}
	}
}

// TestMarkClaimsWhatIsSynced: commits that were found but that this process has not synced are
// not claimed, because a power cut could still undo them.
func TestMarkClaimsWhatIsSynced(t *testing.T) {
	t.Parallel()
	path := killed(t)
	remove(t, path+"-mark")
	db := openTest(t, path, Options{})
	if m, err := readMark(path); err != nil || m.commits != 0 {
		t.Errorf("mark before a commit = %+v, %v, want no commits", m, err)
	}
	putTasks(t, db, 100, 101)
	if m, err := readMark(path); err != nil || m.commits != 61 {
		t.Errorf("mark after a commit = %+v, %v, want 61 commits", m, err)
	}
}

// TestFilesThatAreNotFiles: a start must not hang on them.
func TestFilesThatAreNotFiles(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "parley.db")
	if err := os.Mkdir(path, 0o700); err != nil {
		t.Fatal(err)
	}
	_, err := Open(path, Options{})
	if !errors.Is(err, ErrForeign) || !strings.Contains(err.Error(), "it is a folder") {
		t.Errorf("Open of a folder = %v, want ErrForeign", err)
	}
}
