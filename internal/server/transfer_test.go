package server

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/parley-a2a/parley/auth"
	"github.com/parley-a2a/parley/internal/blobstore"
	"github.com/parley-a2a/parley/internal/config"
	"github.com/parley-a2a/parley/internal/secret/seal"
	"github.com/parley-a2a/parley/internal/store/dump"
	"github.com/parley-a2a/parley/internal/store/sqlstore"
	"github.com/parley-a2a/parley/internal/task"
	"github.com/parley-a2a/parley/internal/testing/pgtest"
	"github.com/parley-a2a/parley/store/pgstore"
	"github.com/parley-a2a/parley/store/sqlitestore"
)

var testHead = dump.Header{Parley: "test"}

// dumped returns what f writes.
func dumped(t *testing.T, f func(*dump.Writer) error) []byte {
	t.Helper()
	var b bytes.Buffer
	w, err := dump.NewWriter(&b, testHead)
	if err == nil {
		err = f(w)
	}
	if err == nil {
		_, err = w.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// small are the columns with numbers below 32768 in PostgreSQL.
var small = map[string]bool{"shown": true, "state": true, "due": true, "dialect": true, "settled": true}

// value returns the ith value of a column. Texts have bytes that are special in databases.
func value(table string, c dump.Column, at, i int) dump.Value {
	name := fmt.Sprintf("%03d %s'\"\\N\t\x00\xff%%", i, c.Name)
	switch {
	case c.Kind == dump.Int && small[c.Name]:
		return dump.Value{Int: int64(i%7 + 1)}
	case c.Kind == dump.Int && at == 0:
		return dump.Value{Int: int64(i + 1)}
	case c.Kind == dump.Int:
		return dump.Value{Int: int64(i+1) << (i % 50)}
	case c.Name == "rest":
		h := task.Head{LastMessage: int64(i), Run: task.Run{Epoch: 1 << 40, Holder: "hub\x00", Dispatch: task.Claimed}, StatusMessage: []byte("{}")}
		return dump.Value{Bytes: sqlstore.AppendHead(nil, &h)}
	case c.Name == "hash":
		return dump.Value{Bytes: bytes.Repeat([]byte{byte(i)}, 32)}
	case c.Kind == dump.ID && i%3 == 0:
		return dump.Value{Bytes: fmt.Appendf(nil, "0190c0de-0123-7456-89ab-%012x", i)}
	case c.Kind == dump.ID && i%3 == 1 && c.Name == "context":
		return dump.Value{Bytes: []byte{}}
	case c.Name == "secret" && i%2 == 0, c.Name == "spec" && i%2 == 1:
		return dump.Value{} // NULL
	case table == "entries" && i == 7:
		return dump.Value{Bytes: bytes.Repeat([]byte("large "), 500_000)}
	}
	return dump.Value{Bytes: []byte(name)}
}

// everything writes rows to all tables.
func everything(w *dump.Writer) error {
	for _, t := range dump.Tables() {
		if err := w.Table(&t); err != nil {
			return err
		}
		n := 40
		if t.Name == "sequence" {
			n = 1
		}
		for i := range n {
			row := make([]dump.Value, len(t.Columns))
			for at, c := range t.Columns {
				row[at] = value(t.Name, c, at, i)
			}
			if err := w.Row(row); err != nil {
				return err
			}
		}
	}
	return nil
}

func reader(t *testing.T, text []byte) *dump.Reader {
	t.Helper()
	r, err := dump.NewReader(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

var noFiles = dump.Sink{
	File: func(dump.FileHead, io.Reader) error { return errors.New("a file") },
	Done: func() error { return nil },
}

// throughSQLite loads a dump into a new file and returns the dump of that.
func throughSQLite(t *testing.T, text []byte) []byte {
	t.Helper()
	path := filepath.Join(t.TempDir(), StoreName)
	db, err := sqlitestore.Open(path, sqlitestore.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if err := db.Load(t.Context(), dump.Source{Reader: reader(t, text[:len(text)-9]), Sink: noFiles}); !errors.Is(err, dump.ErrDamaged) {
		t.Errorf("load of a dump that was cut off = %v, want ErrDamaged", err)
	}
	if err := db.Load(t.Context(), dump.Source{Reader: reader(t, text), Sink: noFiles}); err != nil {
		t.Fatal(err)
	}
	if err := db.Load(t.Context(), dump.Source{Reader: reader(t, text), Sink: noFiles}); !errors.Is(err, dump.ErrNotEmpty) {
		t.Errorf("second load = %v, want ErrNotEmpty", err)
	}
	return dumped(t, func(w *dump.Writer) error { return sqlitestore.Dump(t.Context(), path, w) })
}

// throughPostgreSQL loads a dump into a new database and returns the dump of that.
func throughPostgreSQL(t *testing.T, text []byte) []byte {
	t.Helper()
	url := pgtest.Shared(t).Database(t)
	if err := pgstore.Load(t.Context(), url, reader(t, text[:len(text)-9])); !errors.Is(err, dump.ErrDamaged) {
		t.Errorf("load of a dump that was cut off = %v, want ErrDamaged", err)
	}
	if err := pgstore.Load(t.Context(), url, reader(t, text)); err != nil {
		t.Fatal(err)
	}
	if err := pgstore.Load(t.Context(), url, reader(t, text)); !errors.Is(err, dump.ErrNotEmpty) {
		t.Errorf("second load = %v, want ErrNotEmpty", err)
	}
	db, err := pgstore.Open(t.Context(), url, pgstore.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	err = pgstore.Dump(t.Context(), url, false, nil)
	if !errors.Is(err, pgstore.ErrInUse) {
		t.Errorf("dump of a database in use = %v, want ErrInUse", err)
	}
	again := dumped(t, func(w *dump.Writer) error { return pgstore.Dump(t.Context(), url, true, w) })
	if err := db.Keys().PutKey(t.Context(), &auth.Key{ID: "new"}); err != nil {
		t.Errorf("a new row after a load: %v", err)
	}
	return again
}

// TestEveryTableMoves moves all tables from SQLite to PostgreSQL and back. Each dump has the same
// bytes.
func TestEveryTableMoves(t *testing.T) {
	t.Parallel()
	want := dumped(t, everything)
	for _, through := range []func(*testing.T, []byte) []byte{throughSQLite, throughPostgreSQL} {
		got := through(t, want)
		if !bytes.Equal(got, want) {
			at := 0
			for at < min(len(got), len(want)) && got[at] == want[at] {
				at++
			}
			t.Fatalf("dump differs at byte %d of %d (%d):\n%.200q\n%.200q", at, len(want), len(got), want[at:], got[at:])
		}
	}
}

// TestMasterKeyOfAnExport imports into folders without the key, with another and with the right
// one.
func TestMasterKeyOfAnExport(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	from := &config.Config{Data: filepath.Join(dir, "from"), Store: config.Store{Home: "sqlite"}}
	db, err := sqlitestore.Open(filepath.Join(mkdir(t, from.Data), StoreName), sqlitestore.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := seal.Load(filepath.Join(from.Data, seal.FileName)); err != nil {
		t.Fatal(err)
	}
	part := filepath.Join(from.Data, PartsName, "owners", "a", "content")
	mkdir(t, filepath.Dir(part))
	if err := os.WriteFile(part, []byte("large"), 0o600); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "x.export")
	if _, err := Export(t.Context(), from, file, false); err != nil {
		t.Fatal(err)
	}
	to := &config.Config{Data: filepath.Join(dir, "to"), Store: config.Store{Home: "sqlite"}}
	if _, err := Import(t.Context(), to, file); !errors.Is(err, ErrExportKey) || !strings.Contains(err.Error(), "copy secret.key") {
		t.Errorf("import without a key = %v, want ErrExportKey", err)
	}
	other := &config.Config{Data: to.Data, Store: config.Store{Home: "sqlite"}, MasterKey: strings.Repeat("a1", 32)}
	if _, err := Import(t.Context(), other, file); !errors.Is(err, ErrExportKey) {
		t.Errorf("import with another key = %v, want ErrExportKey", err)
	}
	if _, err := os.Stat(filepath.Join(to.Data, StoreName)); err == nil {
		t.Error("a refused import has created a store")
	}
	key, err := os.ReadFile(filepath.Join(from.Data, seal.FileName))
	if err == nil {
		err = os.WriteFile(filepath.Join(to.Data, seal.FileName), key, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	end, err := Import(t.Context(), to, file)
	if err != nil || end.Files != 1 {
		t.Fatalf("import = %+v, %v", end, err)
	}
	if text, err := os.ReadFile(filepath.Join(to.Data, PartsName, "owners", "a", "content")); string(text) != "large" {
		t.Errorf("part = %q, %v", text, err)
	}
	if _, err := Import(t.Context(), to, file); !errors.Is(err, dump.ErrNotEmpty) {
		t.Errorf("second import = %v, want ErrNotEmpty", err)
	}
}

func mkdir(t *testing.T, path string) string {
	t.Helper()
	if err := os.MkdirAll(path, 0o700); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestPartsMove moves large parts from a folder into a database and back into a folder. The files of
// both folders are the same; a database that has parts takes no import.
func TestPartsMove(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	from := &config.Config{Data: filepath.Join(dir, "from"), Store: config.Store{Home: "sqlite"}}
	db, err := sqlitestore.Open(filepath.Join(mkdir(t, from.Data), StoreName), sqlitestore.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	parts, err := blobstore.Open(partsFolder(from), blobstore.Options{})
	if err != nil {
		t.Fatal(err)
	}
	shared := bytes.Repeat([]byte("large "), 200_000)
	for i, k := range []blobstore.Key{{Owner: "anna", Task: "one"}, {Owner: "anna", Task: "two\x00"}, {Owner: "eve", Task: "one"}, {Owner: "", Task: "pending"}} {
		p, err := parts.Put(k, blobstore.Part{MediaType: "a/b", Filename: "é"}, bytes.NewReader(shared[i/2*7:]))
		if err != nil {
			t.Fatal(err)
		}
		if i < 3 {
			parts.Keep(k, p.Digest)
		}
	}
	moved := &config.Config{Data: filepath.Join(dir, "moved"), Store: config.Store{Home: pgtest.Shared(t).Database(t)}}
	back := &config.Config{Data: filepath.Join(dir, "back"), Store: config.Store{Home: "sqlite"}}
	for i, step := range []struct{ from, to *config.Config }{{from, moved}, {moved, back}} {
		file := filepath.Join(dir, fmt.Sprint(i, ".export"))
		if _, err := Export(t.Context(), step.from, file, false); err != nil {
			t.Fatal(err)
		}
		end, err := Import(t.Context(), step.to, file)
		if err != nil || end.Files != 7 {
			t.Fatalf("import %d = %+v, %v, want 3 contents and 4 references", i, end, err)
		}
		if _, err := Import(t.Context(), step.to, file); !errors.Is(err, dump.ErrNotEmpty) {
			t.Errorf("import %d again: %v, want ErrNotEmpty", i, err)
		}
	}
	want, got := filesIn(t, partsFolder(from)), filesIn(t, partsFolder(back))
	if diff := cmp.Diff(want, got); diff != "" || len(want) != 7 {
		t.Errorf("parts (-want +got):\n%.2000s", diff)
	}
}

// filesIn returns the digests of all files in a folder by their paths.
func filesIn(t *testing.T, dir string) map[string]string {
	t.Helper()
	found := make(map[string]string)
	err := fs.WalkDir(os.DirFS(dir), ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := os.ReadFile(filepath.Join(dir, path))
		found[path] = fmt.Sprintf("%x %.200s", sha256.Sum256(b), b)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}
