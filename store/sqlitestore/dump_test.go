package sqlitestore

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/parley-a2a/parley/internal/store/dump"
)

// TestDumpHasEveryColumn compares the tables of a file with those of a dump. The identity of a file,
// the name of its timeline and the index of its notes are not data.
func TestDumpHasEveryColumn(t *testing.T) {
	t.Parallel()
	known := make(map[string]string)
	for _, table := range dump.Tables() {
		known[table.Name] = table.Names()
	}
	known["sequence"] = "one, next_key, probes"
	found := make(map[string]string)
	err := newTest(t).read(t.Context(), func(c *conn) error {
		raw, _, err := c.raw.PrepareTransient("SELECT name FROM sqlite_schema WHERE type = 'table'")
		if err != nil {
			return err
		}
		defer raw.Finalize() //nolint:errcheck // its last step reports the error
		s := stmt{conn: c, raw: raw}
		for s.next() {
			name := s.Text()
			if slices.Contains([]string{"identity", "timeline_id", "migrations", "pieces", "staged", "text_index"}, name) || strings.HasPrefix(name, "sqlite_") || strings.HasPrefix(name, "note_") || strings.HasPrefix(name, "task_words") {
				continue
			}
			names, err := c.columnNames(name)
			if err != nil {
				return err
			}
			found[name] = strings.Join(names, ", ")
		}
		return s.err
	})
	if diff := cmp.Diff(known, found); diff != "" || err != nil {
		t.Errorf("columns of the file: %v, mismatch (-dump +file): a new column needs a new version of the dump\n%s", err, diff)
	}
}

func (c *conn) columnNames(table string) (names []string, err error) {
	raw, _, err := c.raw.PrepareTransient("SELECT name FROM pragma_table_info('" + table + "') ORDER BY cid")
	if err != nil {
		return nil, err
	}
	defer raw.Finalize() //nolint:errcheck // its last step reports the error
	s := stmt{conn: c, raw: raw}
	for s.next() {
		names = append(names, s.Text())
	}
	return names, s.err
}
