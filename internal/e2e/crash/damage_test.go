package crash

import (
	"errors"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/parley-a2a/parley/internal/testing/hubtest"
)

// alter runs statements on the store of a hub that does not run.
func alter(t *testing.T, data, script string) {
	t.Helper()
	c, err := sqlite.OpenConn(filepath.Join(data, "parley.db"), sqlite.OpenReadWrite)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if err := sqlitex.ExecuteScript(c, script, nil); err != nil {
		t.Fatal(err)
	}
}

// TestDamagedDataIsShown overwrites the log of one task. Its caller gets an error that a retry
// does not mend, other tasks are served, and the operator finds the task in the log, once, the
// damage in /readyz and the reads in /metrics.
func TestDamagedDataIsShown(t *testing.T) {
	h := &smallHub{t, hubtest.Start(t, hubtest.Options{})}
	ids := h.sent(5)
	h.Stop()
	alter(t, h.Data(), "UPDATE entries SET data = x'ff00' WHERE place >> 24 = (SELECT min(key) FROM tasks)")
	if err := h.Start(); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if code, body := h.read("/v1/a2a/tasks/" + ids[0]); code != http.StatusInternalServerError || !strings.Contains(body, "DATA_LOSS") {
			t.Errorf("get of the damaged task = %d %s, want 500 DATA_LOSS", code, body)
		}
	}
	if gone := h.missing(ids[1:]); len(gone) > 0 {
		t.Errorf("tasks %q are not served", gone)
	}
	if code, body := h.read("/readyz"); code != http.StatusServiceUnavailable || !strings.Contains(body, "stored data is damaged (1 objects") {
		t.Errorf("readyz = %d %s, want 503 that names the damage", code, body)
	}
	if _, body := h.read("/metrics"); !strings.Contains(body, "parley_store_damaged_total") {
		t.Errorf("metrics do not count the damage:\n%s", body)
	}
	text := h.Output()
	if n := strings.Count(text, "stored data is damaged; examine"); n != 1 || !strings.Contains(text, "task="+ids[0]) {
		t.Errorf("the log names the damage %d times, want once with the task", n)
	}
}

// TestPagesAreExaminedAtStart overwrites a page that the start does not read. The hub is not ready
// soon after the start, although no caller has met the damage, and the log names the table.
func TestPagesAreExaminedAtStart(t *testing.T) {
	h := &smallHub{t, hubtest.Start(t, hubtest.Options{})}
	h.sent(5)
	h.Stop()
	path := filepath.Join(h.Data(), "parley.db")
	c, err := sqlite.OpenConn(path, sqlite.OpenReadOnly)
	if err != nil {
		t.Fatal(err)
	}
	var root int64
	err = sqlitex.Execute(c, "SELECT rootpage FROM sqlite_schema WHERE name = 'dead_letters'", &sqlitex.ExecOptions{
		ResultFunc: func(s *sqlite.Stmt) error { root = s.ColumnInt64(0); return nil },
	})
	if err := errors.Join(err, c.Close()); err != nil {
		t.Fatal(err)
	}
	scribble(t, path, (root-1)*4096, 4096)
	if err := h.Start(); err != nil {
		t.Fatal(err)
	}
	if err := h.Process().Await(t.Context(), "stored data is damaged; examine"); err != nil {
		t.Fatal(err)
	}
	if code, body := h.read("/readyz"); code != http.StatusServiceUnavailable || !strings.Contains(body, "stored data is damaged (1 objects") {
		t.Errorf("readyz = %d %s, want 503 that names the damage", code, body)
	}
	if said := h.Output(); !strings.Contains(said, "table dead_letters") {
		t.Errorf("the log does not name the table:\n%s", said)
	}
}
