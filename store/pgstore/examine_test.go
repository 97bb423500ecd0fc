package pgstore

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/parley-a2a/parley/internal/task"
	"github.com/parley-a2a/parley/internal/testing/pgtest"
)

// Examine counts the data of an intact database, and reports each kind of damage.
func TestExamine(t *testing.T) {
	t.Parallel()
	url := pgtest.Shared(t).Database(t)
	db := openTest(t, url, Options{})
	for _, id := range []string{"t1", "t2", "t3"} {
		put(t, db, id)
	}
	p := db.Parts(0)
	part := mustPut(t, p, keyOf("t1"), bytesOf(chunkSize+1))
	p.Keep(keyOf("t1"), part.Digest)
	mustPut(t, p, keyOf("t2"), bytesOf(7))
	var found []string
	examine := func() Examined {
		t.Helper()
		found = nil
		n, err := Examine(t.Context(), url, func(p string) { found = append(found, p) })
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	if n := examine(); n != (Examined{Tasks: 3, Entries: 3, Parts: 2}) || len(found) > 0 {
		t.Errorf("Examine = %+v, %q", n, found)
	}
	for want, damage := range map[string]struct{ sql, repair string }{
		"1 counters of tasks are wrong":               {"UPDATE counters SET n = n + 1", "UPDATE counters SET n = n - 1"},
		"its log leads to":                            {"UPDATE tasks SET state = 3 WHERE id = 't' || 't2'::bytea; UPDATE counters SET n = 2; INSERT INTO counters SELECT scope, 3, 1 FROM counters LIMIT 1", "UPDATE tasks SET state = 1; DELETE FROM counters WHERE state = 3; UPDATE counters SET n = 3"},
		"1 references to large parts have no content": {"UPDATE part_contents SET space = 'x' WHERE size = 7", "UPDATE part_contents SET space = (SELECT space FROM part_refs LIMIT 1)"},
		"chunk 1 is missing":                          {"UPDATE part_chunks SET n = 9 WHERE n = 1", "UPDATE part_chunks SET n = 1 WHERE n = 9"},
		"1 rows of logs belong to no task":            {"INSERT INTO entries VALUES (99 * 16777216, 'x')", "DELETE FROM entries WHERE data = 'x'"},
	} {
		db.script(t, "BEGIN; "+damage.sql+"; COMMIT")
		examine()
		if !slices.ContainsFunc(found, func(s string) bool { return strings.Contains(s, want) }) || len(found) != 1 {
			t.Errorf("problems %q, want one with %q", found, want)
		}
		db.script(t, "BEGIN; "+damage.repair+"; COMMIT")
		if examine(); len(found) > 0 {
			t.Fatalf("after the repair of %q: %q", want, found)
		}
	}
	db.script(t, "UPDATE entries SET data = set_byte(data, octet_length(data) - 3, 254)") // in a text
	if examine(); len(found) != 3 || !strings.Contains(found[0], "after entry 0") {
		t.Errorf("problems of damaged entries = %q", found)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Examine(ended, url, func(string) {}); !errors.Is(err, context.Canceled) {
		t.Errorf("Examine with an ended context: %v", err)
	}
	if _, err := Examine(t.Context(), "postgres://127.0.0.1:1/x", nil); !errors.Is(err, task.ErrUnavailable) {
		t.Errorf("Examine without a server: %v", err)
	}
}
