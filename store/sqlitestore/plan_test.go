package sqlitestore

import (
	"slices"
	"strings"
	"testing"

	"github.com/parley-a2a/parley/internal/store/sqlstore/tables"
)

// scans are the statements that may scan all rows of a table, with the reason.
var scans = map[query]string{
	qLedger:    "once at start, one row for each migration",
	qAllHeads:  "of the tests",
	qIntegrity: "reads the file on purpose",
	qCountWord: "the rows of a word, by the full-text index",
	qFindNotes: "the rows of words, by the full-text index",
	qLonger:    "a range of words, by the full-text index",
	qAllStaged: "a row for each large change that is being written",
	qAllGroups: "a row for each owner, agent and state, when an administrator lists all tasks",

	sharedQuery("sum(n)"):                       "a row for each owner, agent and state, when metrics are read",
	sharedQuery("task FROM doomed LIMIT"):       "one row",
	sharedQuery("DISTINCT task, hook"):          "a page of hooks",
	sharedQuery("FROM keys"):                    "all keys, once at start",
	sharedQuery("FROM agents ORDER"):            "all agents, once at start",
	sharedQuery("FROM trust"):                   "all entries, once at start",
	sharedQuery("DELETE FROM letters WHERE at"): "as many as are kept, once for each that comes",
	sharedQuery("task_words MATCH"):             "the rows of words, by the full-text index",
	sharedQuery("DELETE FROM task_words"):       "one row of the full-text index",
	sharedQuery("count(*) FROM letters"):        "as many as are kept, when metrics are read",
}

// sharedQuery returns the only statement of package tables with a text in it.
func sharedQuery(text string) query {
	found := query(-1)
	for q := range tables.All() {
		if !strings.Contains(q.SQLite(), text) {
			continue
		}
		if found >= 0 {
			panic("two statements contain " + text)
		}
		found = firstShared + query(q)
	}
	if found < 0 {
		panic("no statement contains " + text)
	}
	return found
}

// sorts are the statements that may sort, with the reason.
var sorts = map[query]string{
	sharedQuery("sum(n)"):               "a row for each state",
	sharedQuery("tasks_interrupted ON"): "the interrupted tasks of one context",
	sharedQuery("WHERE t.id = ?4"):      "the hooks of the tasks with one id",
}

// TestStatementsUseIndexes checks SQLite's plan for each statement.
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

// TestCountsReadIndexesAlone: counting must not read heads.
func TestCountsReadIndexesAlone(t *testing.T) {
	t.Parallel()
	db := newTest(t)
	for _, q := range []query{qCountGroup, sharedQuery("count(*) FROM tasks WHERE owner")} {
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
		"hooks_ref", "hooks_unsettled", "messages_task", "sidecars_parent",
	} {
		if !strings.Contains(plans.String(), "INDEX "+index+" ") {
			t.Errorf("no statement uses index %s", index)
		}
	}
}

// TestHooksAreFoundByIndexes: the cost of a query depends on its result, not on the number of
// hooks of other tasks, without dead letters, or settled.
func TestHooksAreFoundByIndexes(t *testing.T) {
	t.Parallel()
	db := newTest(t)
	for q, want := range map[query]string{
		sharedQuery("INDEXED BY hooks_unsettled"):                "SEARCH h USING INDEX hooks_unsettled ((task,id)>(?,?))",
		sharedQuery("t.key = h.task \n\tWHERE (h.task, h.id) >"): "SEARCH h USING INDEX hooks_ref ((task,id)>(?,?))",
		sharedQuery("AND h.id > ?2"):                             "SEARCH h USING INDEX hooks_ref (task=? AND id>?)",
		sharedQuery("WHERE t.id = ?4"):                           "SEARCH t USING INDEX tasks_id (id=?)",
		sharedQuery("DISTINCT task, hook"):                       "SEARCH dead_letters USING PRIMARY KEY ((task,hook)>(?,?))",
		sharedQuery("AND delivered < ?3"):                        "SEARCH hooks USING INDEX hooks_ref (task=? AND id=?)",
		sharedQuery("SELECT first, last, at"):                    "SEARCH dead_letters USING PRIMARY KEY (task=? AND hook=?)",
	} {
		plan := planOf(t, db, queries[q])
		if !slices.Contains(plan, want) {
			t.Errorf("%s\nplan is %q, want %q in it", queries[q], plan, want)
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
