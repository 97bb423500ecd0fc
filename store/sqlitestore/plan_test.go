package sqlitestore

import (
	"slices"
	"strings"
	"testing"
)

// scans are the statements that may look at every row of something, and why.
var scans = map[query]string{
	qDoomed:    "one row",
	qLedger:    "once at start, one row for each migration",
	qAllHeads:  "of the tests",
	qIntegrity: "reads the file on purpose",
}

// sorts are the statements that may sort, and why.
var sorts = map[query]string{
	qInterrupted: "the interrupted tasks of one context",
}

// TestStatementsUseIndexes asks SQLite how it would execute each statement.
func TestStatementsUseIndexes(t *testing.T) {
	t.Parallel()
	db := newTest(t)
	for q := range queries {
		plan := planOf(t, db, queries[q])
		for _, line := range plan {
			if _, ok := scans[query(q)]; !ok && strings.HasPrefix(line, "SCAN ") && !strings.HasPrefix(line, "SCAN (subquery") && line != "SCAN CONSTANT ROW" {
				t.Errorf("%s\nscans: %s", queries[q], line)
			}
			if _, ok := sorts[query(q)]; !ok && strings.Contains(line, "TEMP B-TREE") {
				t.Errorf("%s\nsorts: %s", queries[q], line)
			}
			if strings.Contains(line, "AUTOMATIC") {
				t.Errorf("%s\nmakes an index: %s", queries[q], line)
			}
		}
	}
}

// TestListsReadIndexesAlone: finding and counting must not touch heads.
func TestListsReadIndexesAlone(t *testing.T) {
	t.Parallel()
	db := newTest(t)
	for _, q := range []query{qShelf, qCountShelf, qCountContext} {
		plan := planOf(t, db, queries[q])
		i := slices.IndexFunc(plan, func(l string) bool { return strings.Contains(l, "COVERING INDEX tasks_") })
		if i < 0 {
			t.Errorf("%s\nreads more than an index: %q", queries[q], plan)
		}
	}
}

// TestEachIndexIsUsed: an index costs every append, so each must serve a statement.
func TestEachIndexIsUsed(t *testing.T) {
	t.Parallel()
	db := newTest(t)
	var plans strings.Builder
	for _, text := range queries {
		plans.WriteString(strings.Join(planOf(t, db, text), "\n") + "\n")
	}
	for _, index := range []string{
		"tasks_id", "tasks_list", "tasks_context", "tasks_due", "tasks_ended", "tasks_interrupted", "tasks_stale",
	} {
		if !strings.Contains(plans.String(), "INDEX "+index+" ") {
			t.Errorf("no statement uses index %s", index)
		}
	}
}

func planOf(t *testing.T, db *DB, text string) []string {
	t.Helper()
	var plan []string
	err := db.read(t.Context(), func(c *conn) error {
		s, _, err := c.raw.PrepareTransient("EXPLAIN QUERY PLAN " + text)
		if err != nil {
			return err
		}
		defer s.Finalize()
		for {
			more, err := s.Step()
			if err != nil || !more {
				return err
			}
			plan = append(plan, s.ColumnText(3))
		}
	})
	if err != nil {
		t.Fatalf("plan of %s: %v", text, err)
	}
	return plan
}
