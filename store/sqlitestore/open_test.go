package sqlitestore

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/parley-a2a/parley/internal/store/sqlstore"
	"github.com/parley-a2a/parley/internal/task"
)

// TestEachCommitReachesTheDisk checks the settings that protect commits from a loss of power.
func TestEachCommitReachesTheDisk(t *testing.T) {
	t.Parallel()
	db := newTest(t)
	got := map[string]int64{}
	for _, p := range []string{"synchronous", "fullfsync", "checkpoint_fullfsync", "auto_vacuum", "page_size", "application_id", "user_version"} {
		n, err := db.writer.conn.number("PRAGMA " + p)
		if err != nil {
			t.Fatal(err)
		}
		got[p] = n
	}
	steps, err := sqlstore.Migrations(schema)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]int64{
		"synchronous": 2, "fullfsync": 1, "checkpoint_fullfsync": 1,
		"auto_vacuum": 2, "page_size": 4096, "application_id": applicationID, "user_version": int64(len(steps)),
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("pragmas mismatch (-want +got):\n%s", diff)
	}
	s, _, err := db.writer.conn.raw.PrepareTransient("PRAGMA journal_mode")
	if err != nil {
		t.Fatal(err)
	}
	defer s.Finalize()
	if _, err := s.Step(); err != nil || s.ColumnText(0) != "wal" {
		t.Errorf("journal_mode = %q, %v, want wal", s.ColumnText(0), err)
	}
}

// TestReopenedConnectionsReachTheDisk: the settings belong to connections, so the replacement
// of a failed one needs them, too.
func TestReopenedConnectionsReachTheDisk(t *testing.T) {
	t.Parallel()
	w := newWriter(connOptions{path: newTest(t).Path(), cache: 1 << 20}, nil)
	defer w.forget()
	if err := w.open(); err != nil {
		t.Fatal(err)
	}
	if got, err := w.conn.number("PRAGMA synchronous"); err != nil || got != 2 {
		t.Errorf("synchronous = %d, %v, want 2 (FULL)", got, err)
	}
}

func TestDataSurvivesReopening(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "db")
	db, err := Open(path, Options{})
	if err != nil {
		t.Fatal(err)
	}
	h := put(t, db.Tasks(), newHead("anna", "t1"), created(5))
	h = put(t, db.Tasks(), h, status(task.Working, 6), status(task.Completed, 7))
	if err := db.Tasks().SaveSnapshot(t.Context(), h.Key, task.Snapshot{Version: 3, Data: []byte("s")}); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}

	db = openTest(t, path, Options{})
	got, err := db.Tasks().Head(t.Context(), "anna", "t1")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(h, got); diff != "" {
		t.Errorf("Head mismatch (-want +got):\n%s", diff)
	}
	es, err := db.Tasks().Read(t.Context(), h.Key, 0)
	if err != nil || len(es) != 3 {
		t.Errorf("Read = %d entries, %v, want 3", len(es), err)
	}
	snap, err := db.Tasks().Snapshot(t.Context(), h.Key)
	if err != nil || snap.Version != 3 {
		t.Errorf("Snapshot = %+v, %v, want version 3", snap, err)
	}
}

func TestFileIsPrivate(t *testing.T) {
	t.Parallel()
	db := newTest(t)
	put(t, db.Tasks(), newHead("anna", "t1"), created(1))
	for _, suffix := range []string{"", "-wal", "-shm"} {
		info, err := os.Stat(db.Path() + suffix)
		if err != nil {
			t.Fatal(err)
		}
		if got := info.Mode().Perm(); got != 0o600 {
			t.Errorf("mode of %s = %v, want 0600", db.Path()+suffix, got)
		}
	}
}

// TestKeysAreNotReused deletes the newest task and reopens the file: its key must not be
// used again, because a caller may still hold it.
func TestKeysAreNotReused(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "db")
	last := task.Key(0)
	for range 3 {
		db, err := Open(path, Options{})
		if err != nil {
			t.Fatal(err)
		}
		h := put(t, db.Tasks(), newHead("anna", "t1"), created(5), status(task.Completed, 6))
		if h.Key <= last {
			t.Errorf("key %d after %d", h.Key, last)
		}
		last = h.Key
		if n, err := db.Tasks().Sweep(t.Context(), 100, 10); n != 1 || err != nil {
			t.Fatalf("Sweep = %d, %v, want 1", n, err)
		}
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// oldTask inserts a task in the first layout.
const oldTask = `INSERT INTO owners VALUES (1, 'anna');
	INSERT INTO scopes VALUES (1, 1, 'echo');
	INSERT INTO tasks (key, owner, scope, id, context, shown, state, status_at, ended, due, rev, version, updated_at, rest)
	VALUES (1, 1, 1, 'old', 'c', 0, 1, 5, 0, 1, 1, 1, 5, x'01000a02000000000000000000');
	UPDATE sequence SET next_key = 2`

// sql runs statements on a file that no DB has open.
func sql(t *testing.T, path string, script string) {
	t.Helper()
	c, err := sqlite.OpenConn(path, sqlite.OpenReadWrite, sqlite.OpenCreate)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if err := sqlitex.ExecuteScript(c, script, nil); err != nil {
		t.Fatal(err)
	}
}

// TestRefusedFiles opens files that must not be opened: the error is of the right kind, names
// the file and the remedy, and the file is unchanged.
func TestRefusedFiles(t *testing.T) {
	t.Parallel()
	ours := func(script string) func(t *testing.T, path string) {
		return func(t *testing.T, path string) {
			fill(t, path)
			sql(t, path, script)
		}
	}
	for name, tt := range map[string]struct {
		spoil func(t *testing.T, path string)
		want  error
		text  string
	}{
		"newer":             {ours("PRAGMA user_version = 99"), ErrNewer, "use a newer parley"},
		"other application": {func(t *testing.T, path string) { sql(t, path, "PRAGMA application_id = 7") }, ErrForeign, "choose another path"},
		"other tables":      {func(t *testing.T, path string) { sql(t, path, "CREATE TABLE x (y)") }, ErrForeign, "choose another path"},
		"text":              {func(t *testing.T, path string) { write(t, path, "shopping: eggs, milk, bread\n") }, ErrForeign, "choose another path"},
		"short text":        {func(t *testing.T, path string) { write(t, path, "eggs") }, ErrForeign, "choose another path"},
		"checksum":          {ours("UPDATE migrations SET checksum = 'x'"), ErrForeign, "0001_tasks.sql"},
		"ledger":            {ours("DELETE FROM migrations"), ErrDamaged, "restore a backup"},
		"table missing":     {ours("DROP TABLE snapshots"), ErrDamaged, "snapshots"},
		"truncated":         {truncate, ErrDamaged, "restore a backup"},
		"header only":       {func(t *testing.T, path string) { write(t, path, "SQLite format 3\x00"+strings.Repeat("z", 5000)) }, ErrDamaged, "restore a backup"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "parley.db")
			tt.spoil(t, path)
			before := read(t, path)
			_, err := Open(path, Options{})
			if !errors.Is(err, tt.want) {
				t.Fatalf("Open = %v, want %v", err, tt.want)
			}
			for _, part := range []string{path, tt.text} {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("error %q does not contain %q", err, part)
				}
			}
			if got := read(t, path); got != before {
				t.Errorf("Open changed the file")
			}
		})
	}
}

// fill creates a file with some tasks.
func fill(t *testing.T, path string) {
	t.Helper()
	db, err := Open(path, Options{})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 50 {
		put(t, db.Tasks(), newHead("anna", fmt.Sprint("t", i)), created(task.Millis(i+1)))
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
}

func truncate(t *testing.T, path string) {
	t.Helper()
	fill(t, path)
	if err := os.Truncate(path, 3*4096); err != nil {
		t.Fatal(err)
	}
}

func write(t *testing.T, path, content string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

func read(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestOpenRefusesFolders(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, path := range []string{dir, filepath.Join(dir, "missing", "db")} {
		if _, err := Open(path, Options{}); err == nil || !strings.Contains(err.Error(), path) {
			t.Errorf("Open(%s) = %v; want an error that names it", path, err)
		}
	}
}

func TestEmptyFileIsInitialized(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "db")
	write(t, path, "")
	put(t, openTest(t, path, Options{}).Tasks(), newHead("anna", "t1"), created(1))
}

// TestMigrationIsAllOrNothing fails in the second step; the file is then unchanged, and can be
// used later.
func TestMigrationIsAllOrNothing(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "db")
	write(t, path, "")
	c, err := openConn(connOptions{path: path, cache: 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	steps, err := sqlstore.Migrations(schema)
	if err != nil {
		t.Fatal(err)
	}
	broken := append(steps, sqlstore.Migration{Name: "9999_broken.sql", Text: "CREATE TABLE fine (x); CREATE TABLE tasks (y)"})
	err = migrate(c, broken, 0)
	if err == nil || !strings.Contains(err.Error(), "9999_broken.sql") {
		t.Errorf("migrate = %v; want an error that names 9999_broken.sql", err)
	}
	if n, err := c.number("SELECT count(*) FROM sqlite_schema"); n != 0 || err != nil {
		t.Errorf("%d tables after a failed migration, %v; want 0", n, err)
	}
	if err := c.close(); err != nil {
		t.Fatal(err)
	}
	openTest(t, path, Options{})
}

// TestMigrationAddsASchemaStep adds a step to a file that has data.
func TestMigrationAddsASchemaStep(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "db")
	fill(t, path)
	c, err := openConn(connOptions{path: path, cache: 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	defer c.close()
	steps, err := sqlstore.Migrations(schema)
	if err != nil {
		t.Fatal(err)
	}
	steps = append(steps, sqlstore.Migration{Name: "9999_more.sql", Text: "CREATE TABLE more (x INTEGER) STRICT"})
	for range 2 {
		have, err := recognize(c, steps)
		if err == nil {
			err = migrate(c, steps, have)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	for text, want := range map[string]int64{
		"PRAGMA user_version":             int64(len(steps)),
		"SELECT count(*) FROM migrations": int64(len(steps)),
		"SELECT count(*) FROM tasks":      50,
		"SELECT count(*) FROM more":       0,
	} {
		if got, err := c.number(text); got != want || err != nil {
			t.Errorf("%s = %d, %v, want %d", text, got, err, want)
		}
	}
}

// TestOldLayoutsOpen creates a file of each earlier layout, with data. It must open, contain
// its data, and support all operations of a new file.
func TestOldLayoutsOpen(t *testing.T) {
	t.Parallel()
	steps, err := sqlstore.Migrations(schema)
	if err != nil {
		t.Fatal(err)
	}
	for have := 1; have < len(steps); have++ {
		path := filepath.Join(t.TempDir(), "db")
		write(t, path, "")
		c, err := openConn(connOptions{path: path, cache: 1 << 20})
		if err != nil {
			t.Fatal(err)
		}
		err = migrate(c, steps[:have], 0)
		if err == nil {
			err = c.script(oldTask)
		}
		if webhooks := have >= 2 && have < 17; err == nil && webhooks {
			err = c.script("INSERT INTO hooks (task, id, url, dialect, scheme, created_at, told, settled) VALUES (1, 'old', 'https://example.org', 0, '', 5, 1, 0)")
		}
		if err := errors.Join(err, c.close()); err != nil {
			t.Fatal(err)
		}
		tasks := openTest(t, path, Options{}).Tasks()
		h, err := tasks.Head(t.Context(), "anna", "old")
		if err != nil || h.Key != 1 || h.State != task.Submitted || h.CreatedAt != 5 || h.LastMessage != 1 {
			t.Fatalf("Head in a file of layout %d = %+v, %v", have, h, err)
		}
		if old, err := tasks.Hooks(t.Context(), h.Key, "", 10); have >= 2 && have < 17 && (err != nil || len(old) != 1 || old[0].ID != "old" || old[0].Position != 1) {
			t.Errorf("Hooks in a file of layout %d = %+v, %v", have, old, err)
		}
		hook := &task.Hook{Task: h.Key, ID: "a", URL: "https://example.org"}
		if err := tasks.PutHook(t.Context(), hook); err != nil {
			t.Fatal(err)
		}
		if got, err := tasks.Unsettled(t.Context(), task.HookRef{}, 10); err != nil || len(got) == 0 || got[0].ID != "a" {
			t.Errorf("Unsettled in a file of layout %d = %+v, %v", have, got, err)
		}
	}
}

func TestCheck(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "db")
	fill(t, path)
	db := openTest(t, path, Options{})
	if err := db.Check(t.Context()); err != nil {
		t.Errorf("Check of a sound file = %v", err)
	}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if err := db.Check(gone); !errors.Is(err, context.Canceled) {
		t.Errorf("Check after cancellation = %v", err)
	}
}

func TestCheckFindsDamage(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "db")
	fill(t, path)
	// The table and the index then name different contexts.
	write(t, path, strings.Replace(read(t, path), "context-t17", "context-t99", 1))
	db := openTest(t, path, Options{})
	err := db.Check(t.Context())
	if !errors.Is(err, ErrDamaged) || !strings.Contains(err.Error(), path) {
		t.Errorf("Check of a damaged file = %v, want ErrDamaged with the path", err)
	}
}

// TestPagesAreChecked overwrites pages in the middle of a file with a sound beginning. No read has
// met them, and CheckPages reports them as if one had.
func TestPagesAreChecked(t *testing.T) {
	t.Parallel()
	template := fillMuch(t)
	for name, tt := range map[string]struct {
		spoil func(*testing.T, string)
		table string
	}{
		"sound":            {spoil: func(*testing.T, string) {}},
		"pages of entries": {pages(-20, 8), "entries"},
		"pages of tasks":   {func(t *testing.T, path string) { rootPage(t, path, "tasks_list") }, "tasks"},
		"page of webhooks": {func(t *testing.T, path string) { rootPage(t, path, "dead_letters") }, "dead_letters"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filled(t, template)
			tt.spoil(t, path)
			var met []string
			db := openTest(t, path, Options{Damaged: func(d Damage) { met = append(met, d.Err.Error()) }})
			err := db.CheckPages(t.Context())
			switch {
			case tt.table == "":
				if err != nil || db.Damages() != 0 {
					t.Errorf("CheckPages of a sound file = %v", err)
				}
			case !errors.Is(err, ErrDamaged) || db.Damages() == 0 || !strings.Contains(strings.Join(met, "\n"), "table "+tt.table):
				t.Errorf("CheckPages = %v, reported %q; want damage of table %s", err, met, tt.table)
			}
		})
	}
	db := openTest(t, template, Options{})
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("enough"))
	if err := db.CheckPages(ctx); err == nil || !strings.Contains(err.Error(), "enough") || db.Damages() != 0 {
		t.Errorf("CheckPages after cancellation = %v with %d damages", err, db.Damages())
	}
}

// TestDamageWhileOpen overwrites pages under an open store: reads of these pages return errors,
// and others succeed.
func TestDamageWhileOpen(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "db")
	fill(t, path)
	sql(t, path, "UPDATE entries SET data = x'99' WHERE place >> 24 = 1")
	tasks := openTest(t, path, Options{}).Tasks()
	_, err := tasks.Read(t.Context(), 1, 0)
	if !errors.Is(err, ErrDamaged) || !errors.Is(err, task.ErrUnavailable) {
		t.Errorf("Read of damaged entries = %v, want ErrDamaged and ErrUnavailable", err)
	}
	if es, err := tasks.Read(t.Context(), 2, 0); err != nil || len(es) != 1 {
		t.Errorf("Read of sound entries = %d, %v, want 1", len(es), err)
	}
}
