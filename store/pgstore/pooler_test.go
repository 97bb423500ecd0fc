package pgstore

import (
	"errors"
	"strings"
	"testing"

	"github.com/parley-a2a/parley/internal/task"
	"github.com/parley-a2a/parley/internal/testing/pgtest"
)

// PgBouncer with its default settings accepts few parameters at the start of a session.
func TestPoolerOfSessions(t *testing.T) {
	t.Parallel()
	s := pgtest.Shared(t)
	address := s.Pooler(t, "session")(s.Database(t))
	db := openTest(t, address+"&statement_timeout=7000", Options{})
	put(t, db, "one")
	mustFind(t, db, "one")
	got, err := db.writer.conn.raw.Exec(t.Context(), "SHOW statement_timeout").ReadAll()
	if err != nil || string(got[0].Rows[0][0]) != "7s" {
		t.Errorf("statement_timeout: %v, %v, want 7s, that of the address", got, err)
	}
}

// Without sessions of their own, two hubs could use the database at the same time.
func TestPoolerOfTransactions(t *testing.T) {
	t.Parallel()
	s := pgtest.Shared(t)
	url := s.Database(t)
	db, err := Open(t.Context(), s.Pooler(t, "transaction")(url), Options{})
	if err == nil {
		_ = db.Close()
	}
	if !errors.Is(err, ErrRefused) || errors.Is(err, task.ErrUnavailable) || !strings.Contains(err.Error(), "pool_mode = session") {
		t.Errorf("Open: %v, want an error that wraps ErrRefused and names the setting", err)
	}
}

// Errors that last until a person acts end the start of a hub, and say what to do.
func TestRefusals(t *testing.T) {
	t.Parallel()
	s := pgtest.Shared(t)
	through := s.Pooler(t, "session")
	for address, want := range map[string]string{
		s.URL("missing"): "create the database",
		through(strings.Replace(s.URL("postgres"), "parley@", "stranger@", 1)): "correct the user",
		through(s.URL("postgres")) + "&options=-c%20work_mem%3D8MB":            "ignore_startup_parameters",
	} {
		db, err := Open(t.Context(), address, Options{})
		if err == nil {
			_ = db.Close()
		}
		if !errors.Is(err, ErrRefused) || errors.Is(err, task.ErrUnavailable) || !strings.Contains(err.Error(), want) {
			t.Errorf("Open(%s): %v, want an error that wraps ErrRefused and says %q", address, err, want)
		}
	}
}
