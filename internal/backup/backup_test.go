package backup

import (
	"archive/tar"
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/google/go-cmp/cmp"
	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/parley-a2a/parley/internal/task"
	"github.com/parley-a2a/parley/internal/testing/powercut"
	"github.com/parley-a2a/parley/store/sqlitestore"
)

func appendTask(t *testing.T, db *sqlitestore.DB, id string) {
	t.Helper()
	h := task.Head{ID: a2a.TaskID(id), Owner: "anna", Agent: "echo", ContextID: "c"}
	next, e, err := task.Apply(h, task.Entry{Kind: task.Created, State: task.Submitted, At: 1, Body: []byte(`{"messageId":"m"}`)})
	if err != nil {
		t.Fatal(err)
	}
	next.Rev = 1
	if err := db.Tasks().Append(t.Context(), &task.Change{Next: next, Entries: []task.Entry{e}}); err != nil {
		t.Fatal(err)
	}
}

// files are the other files of a data folder, without those that a start makes anew.
var files = map[string]string{
	"secret.key":                    "key",
	"audit/head.json":               "{}",
	"audit/000001.jsonl":            "line\nunfinished",
	"parts/owners/ab/cd/content":    "large",
	"parts/owners/ab/cd/ef.json":    "{}",
	"parley.db-mark":                "skipped",
	"bus.json":                      "skipped",
	"runs/1":                        "skipped",
	"incoming/spool":                "skipped",
	"an operator's file with words": "x",
}

// newFolder returns a data folder whose store has 20 tasks and is in use.
func newFolder(t *testing.T) (string, *sqlitestore.DB) {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Remove(filepath.Join(dir, "parley.db-mark")); err != nil {
		t.Fatal(err)
	}
	db, err := sqlitestore.Open(filepath.Join(dir, storeName), sqlitestore.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	for i := range 20 {
		appendTask(t, db, fmt.Sprint("t", i))
	}
	return dir, db
}

// newBackup returns a backup of a new folder.
func newBackup(t *testing.T) string {
	t.Helper()
	dir, _ := newFolder(t)
	to := filepath.Join(t.TempDir(), "b.tar")
	if _, err := Write(t.Context(), Source{Dir: dir, Parley: "test"}, to); err != nil {
		t.Fatal(err)
	}
	return to
}

// tree returns the names and contents of the files in a folder, without the store.
func tree(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := make(map[string]string)
	err := fs.WalkDir(os.DirFS(dir), ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || path == storeName || path == lockName {
			return err
		}
		text, err := os.ReadFile(filepath.Join(dir, path))
		all[path] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func TestRoundTrip(t *testing.T) {
	t.Parallel()
	dir, db := newFolder(t)
	file, to := filepath.Join(t.TempDir(), "b.tar"), filepath.Join(t.TempDir(), "new", "data")
	for _, remains := range []string{".part", ".part-db"} { // of a killed process
		if err := os.WriteFile(file+remains, []byte("half"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	m, err := Write(t.Context(), Source{Dir: dir}, file)
	if err != nil || m.Tasks != 20 || m.Entries != 20 {
		t.Fatalf("Write = %+v, %v, want 20 tasks", m, err)
	}
	if left, err := filepath.Glob(file + ".*"); err != nil || len(left) > 0 {
		t.Errorf("remains: %v, %v", left, err)
	}
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode of the backup = %v, %v, want 0600: it has keys", info.Mode(), err)
	}
	appendTask(t, db, "later")
	if _, err := Write(t.Context(), Source{Dir: dir}, file); !errors.Is(err, fs.ErrExist) {
		t.Errorf("Write over a backup = %v, want ErrExist", err)
	}
	if _, err := Restore(t.Context(), file, to); err != nil {
		t.Fatal(err)
	}
	want := make(map[string]string)
	for name, text := range files {
		if text != "skipped" {
			want[name] = text
		}
	}
	if diff := cmp.Diff(want, tree(t, to)); diff != "" {
		t.Errorf("restored files mismatch (-want +got):\n%s", diff)
	}
	restored, err := sqlitestore.Open(filepath.Join(to, storeName), sqlitestore.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer restored.Close()
	page, err := restored.Tasks().List(t.Context(), &task.Query{Owner: "anna", Limit: 50})
	if err != nil || page.Total != 20 {
		t.Errorf("restored tasks = %d, %v, want those of the backup", page.Total, err)
	}
	mine, err := restored.Tasks().Timeline(t.Context(), 0, 1)
	if err != nil {
		t.Fatal(err)
	}
	theirs, err := db.Tasks().Timeline(t.Context(), 0, 1)
	if err != nil || mine.ID == theirs.ID {
		t.Errorf("both timelines are %q, %v: a position of one must not be valid in the other", mine.ID, err)
	}
	if _, err := Restore(t.Context(), file, to); !errors.Is(err, ErrNotEmpty) {
		t.Errorf("Restore over data = %v, want ErrNotEmpty", err)
	}
}

func TestFoldersElsewhere(t *testing.T) {
	t.Parallel()
	dir, _ := newFolder(t)
	elsewhere := t.TempDir()
	if err := os.WriteFile(filepath.Join(elsewhere, "content"), []byte("there"), 0o600); err != nil {
		t.Fatal(err)
	}
	file, to := filepath.Join(t.TempDir(), "b.tar"), filepath.Join(t.TempDir(), "data")
	if _, err := Write(t.Context(), Source{Dir: dir, Outside: map[string]string{"parts": elsewhere}}, file); err != nil {
		t.Fatal(err)
	}
	if _, err := Restore(t.Context(), file, to); err != nil {
		t.Fatal(err)
	}
	got := tree(t, to)
	if _, stale := got["parts/owners/ab/cd/content"]; stale || got["parts/content"] != "there" {
		t.Errorf("restored %v, want parts from the configured folder", got)
	}
}

// TestDamagedBackups cuts a backup at each block, and flips a byte in each. No folder has any
// data then.
func TestDamagedBackups(t *testing.T) {
	t.Parallel()
	file := newBackup(t)
	whole, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	end := bytes.LastIndex(whole, []byte(`"sha256"`)) // what follows the manifest has no meaning
	bad, to := filepath.Join(t.TempDir(), "bad.tar"), filepath.Join(t.TempDir(), "data")
	refused := func(name string, text []byte) {
		t.Helper()
		if err := os.WriteFile(bad, text, 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := Restore(t.Context(), bad, to); !errors.Is(err, ErrDamaged) && !errors.Is(err, ErrFormat) {
			t.Errorf("Restore of a backup %s = %v, want ErrDamaged", name, err)
		}
		if left := tree(t, to); len(left) > 0 || Unfinished(to) {
			t.Fatalf("a backup %s has left %v", name, left)
		}
	}
	step := len(whole) / 100
	for at := 0; at < end; at += step {
		refused(fmt.Sprintf("cut at byte %d of %d", at, len(whole)), whole[:at])
	}
	for at := 100; at < end; at += step {
		flipped := bytes.Clone(whole)
		if flipped[at] == 0 {
			continue // it may be padding
		}
		flipped[at] ^= 0x41
		refused(fmt.Sprintf("changed near byte %d", at), flipped)
	}
}

// TestRestoreExamines restores backups whose files are those of their manifest: one with a damaged
// store, and one with fewer tasks than the manifest counts. No folder has any data then.
func TestRestoreExamines(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		spoil string
		tasks int64
	}{
		"whole":         {"SELECT 1", 20},
		"damaged store": {"UPDATE entries SET data = x'00' WHERE place = (SELECT max(place) FROM entries)", 20},
		"fewer tasks":   {"SELECT 1", 21},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir, _ := newFolder(t)
			store, file, to := filepath.Join(t.TempDir(), "db"), filepath.Join(t.TempDir(), "b.tar"), filepath.Join(t.TempDir(), "data")
			if _, err := sqlitestore.Copy(t.Context(), filepath.Join(dir, storeName), store, sqlitestore.CopyOptions{}); err != nil {
				t.Fatal(err)
			}
			c, err := sqlite.OpenConn(store, sqlite.OpenReadWrite)
			if err != nil {
				t.Fatal(err)
			}
			if err := errors.Join(sqlitex.ExecuteScript(c, tt.spoil+";", nil), c.Close()); err != nil {
				t.Fatal(err)
			}
			f, err := os.Create(file)
			if err != nil {
				t.Fatal(err)
			}
			w := &writer{ctx: t.Context(), tar: tar.NewWriter(f), manifest: Manifest{Tasks: tt.tasks, Entries: 20}}
			if err := errors.Join(w.all(&Source{Dir: dir}, store), f.Close()); err != nil {
				t.Fatal(err)
			}
			_, err = Restore(t.Context(), file, to)
			if name == "whole" {
				if err != nil {
					t.Errorf("Restore = %v", err)
				}
				return
			}
			if left := tree(t, to); !errors.Is(err, ErrDamaged) || len(left) > 0 || Unfinished(to) {
				t.Errorf("Restore = %v and has left %v, want ErrDamaged and nothing", err, left)
			}
		})
	}
}

// TestFolderThatWasFilledMeanwhile: another process has filled the folder before this one holds it.
func TestFolderThatWasFilledMeanwhile(t *testing.T) {
	t.Parallel()
	f, err := os.Open(newBackup(t))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	dir, _ := newFolder(t)
	before := tree(t, dir)
	if _, err := fill(t.Context(), f, dir); !errors.Is(err, ErrNotEmpty) {
		t.Errorf("fill = %v, want ErrNotEmpty", err)
	}
	if diff := cmp.Diff(before, tree(t, dir)); diff != "" {
		t.Errorf("the folder was changed (-want +got):\n%s", diff)
	}
}

// TestPowerCutAfterRestore: a restored folder has all its files after a power cut.
func TestPowerCutAfterRestore(t *testing.T) {
	t.Parallel()
	file, root := newBackup(t), t.TempDir()
	disk := powercut.Watch(t, root)
	to := filepath.Join(root, "data")
	if _, err := Restore(t.Context(), file, to); err != nil {
		t.Fatal(err)
	}
	left := filepath.Join(disk.Cut(t), "data")
	if diff := cmp.Diff(tree(t, to), tree(t, left)); diff != "" {
		t.Errorf("files after a power cut (-want +got):\n%s", diff)
	}
	store := func(dir string) []byte {
		text, err := os.ReadFile(filepath.Join(dir, storeName))
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	if !bytes.Equal(store(to), store(left)) {
		t.Error("after a power cut the store has another content")
	}
}

func TestRefusedBackups(t *testing.T) {
	t.Parallel()
	for name, entries := range map[string][2]string{
		"another file":  {"README", "hello"},
		"newer version": {headName, `{"format":"parley-backup","version":2,"parley":"9.0.0"}`},
	} {
		var b bytes.Buffer
		w := tar.NewWriter(&b)
		if err := w.WriteHeader(&tar.Header{Name: entries[0], Size: int64(len(entries[1])), Mode: 0o600}); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte(entries[1])); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		file := filepath.Join(t.TempDir(), "b.tar")
		if err := os.WriteFile(file, b.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := Restore(t.Context(), file, filepath.Join(t.TempDir(), "data")); !errors.Is(err, ErrFormat) {
			t.Errorf("Restore of %s = %v, want ErrFormat", name, err)
		}
	}
}

// TestNamesStayInside restores entries whose names lead out of the folder.
func TestNamesStayInside(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"../evil", "/evil", "a/../../evil", markerName + "/x", lockName, "a//b", "", "."} {
		r := &reader{ctx: t.Context(), in: new(position), dir: t.TempDir()}
		if err := r.file(name, bytes.NewReader(nil)); !errors.Is(err, ErrDamaged) {
			t.Errorf("entry %q = %v, want ErrDamaged", name, err)
		}
	}
}

// TestRestoreAgain restores into folders that a killed process has left.
func TestRestoreAgain(t *testing.T) {
	t.Parallel()
	file := newBackup(t)
	for name, left := range map[string][]string{
		"while it read":  {markerName + "/parley.db", markerName + "/secret.key"},
		"while it moved": {markerName + "/parley.db", "secret.key", "audit/head.json"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			for _, n := range left {
				if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, n)), 0o700); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(filepath.Join(dir, n), []byte("half"), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			if !Unfinished(dir) {
				t.Error("the folder counts as finished")
			}
			if _, err := Restore(t.Context(), file, dir); err != nil {
				t.Fatal(err)
			}
			if got := tree(t, dir); Unfinished(dir) || got["secret.key"] != "key" {
				t.Errorf("restored %v", got)
			}
		})
	}
}
