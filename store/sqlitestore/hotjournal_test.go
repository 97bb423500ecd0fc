package sqlitestore_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/parley-a2a/parley/store/sqlitestore"
)

// A process that is killed while it creates the file leaves a rollback journal behind, because the
// file has no write-ahead log yet. The next one rolls the change back, and creates the file.
func TestKillWhileTheFileIsCreated(t *testing.T) {
	t.Parallel()
	from, to := filepath.Join(t.TempDir(), "a.db"), filepath.Join(t.TempDir(), "parley.db")
	c, err := sqlite.OpenConn(from, sqlite.OpenReadWrite|sqlite.OpenCreate)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for _, text := range []string{
		"PRAGMA journal_mode = DELETE", "BEGIN IMMEDIATE", "PRAGMA cache_spill = 1", "PRAGMA cache_size = 1", "CREATE TABLE t (x)",
		"INSERT INTO t SELECT randomblob(3000) FROM (WITH RECURSIVE n(i) AS (VALUES(1) UNION ALL SELECT i + 1 FROM n WHERE i < 100) SELECT i FROM n)",
	} {
		if err := sqlitex.ExecuteTransient(c, text, nil); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
	}
	journal, err := os.ReadFile(from + "-journal")
	if err == nil {
		err = sqlitex.ExecuteTransient(c, "COMMIT", nil)
	}
	if err == nil {
		err = os.WriteFile(to+"-journal", journal, 0o600)
	}
	file, e := os.ReadFile(from)
	if err = errors.Join(err, e); err == nil {
		err = os.WriteFile(to, file, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	db, err := sqlitestore.Open(to, sqlitestore.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Error(err)
	}
}
