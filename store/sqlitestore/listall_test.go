package sqlitestore

import (
	"fmt"
	"slices"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"golang.org/x/sync/errgroup"

	"github.com/parley-a2a/parley/internal/task"
)

// rejected is the number of rejected tasks of manyOwners.
const rejected = 10

// manyOwners stores tasks of n owners: completed ones and those that wait for input of each, a
// few that work, and rejected ones.
func manyOwners(t testing.TB, db *DB, n int) {
	t.Helper()
	var g errgroup.Group
	g.SetLimit(64)
	add := func(owner int, state task.State) {
		g.Go(func() error {
			h := newHead(task.Owner(fmt.Sprint("owner", owner)), fmt.Sprint("t", state))
			at := task.Millis(owner)
			c, err := stepped(h, created(at), status(state, at+1))
			if err != nil {
				return err
			}
			return db.Tasks().Append(t.Context(), c)
		})
	}
	for i := range n {
		add(i, task.Completed)
		add(i, task.InputRequired)
		if i%50 == 0 {
			add(i, task.Working)
		}
	}
	for i := range rejected {
		add(i, task.Rejected)
	}
	if err := g.Wait(); err != nil {
		t.Fatal(err)
	}
}

// stepsOf returns the number of statements that a list executes.
func stepsOf(t *testing.T, db *DB, q task.Query) int {
	t.Helper()
	q.AllOwners = true
	steps := func() (n int) {
		err := db.read(t.Context(), func(c *conn) error {
			n = c.steps
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	before := steps()
	if _, err := db.Tasks().List(t.Context(), &q); err != nil {
		t.Fatal(err)
	}
	return steps() - before
}

// combined returns the number of sources of a list of all tasks in a state.
func combined(t *testing.T, db *DB, state task.State) (n int) {
	t.Helper()
	err := db.read(t.Context(), func(c *conn) error {
		q := &task.Query{AllOwners: true, State: state, Limit: 5}
		groups, err := groupsOf(c, q, 0)
		if err == nil {
			groups, err = combine(c, q, groups)
		}
		n = len(groups)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// TestListOfAllOwnersNeedsFewStatements checks that a page of the tasks of all owners does not
// cost a statement for each owner, and that a rare state is not searched in all tasks.
func TestListOfAllOwnersNeedsFewStatements(t *testing.T) {
	t.Parallel()
	const owners, total = 400, 2*400 + 400/50 + rejected
	db := openTest(t, t.TempDir()+"/db", Options{Readers: 1})
	manyOwners(t, db, owners)
	for name, tt := range map[string]struct {
		q    task.Query
		most int
	}{
		"all":            {task.Query{Limit: 5}, 30},
		"completed":      {task.Query{Limit: 5, State: task.Completed}, 30},
		"input required": {task.Query{Limit: 5, State: task.InputRequired}, 30},
		"working":        {task.Query{Limit: 5, State: task.Working}, 30},
		"rejected":       {task.Query{Limit: 5, State: task.Rejected}, 30},
	} {
		if n := stepsOf(t, db, tt.q); n > tt.most {
			t.Errorf("%s: %d statements for %d owners, want at most %d", name, n, owners, tt.most)
		}
	}
	if n := combined(t, db, task.Rejected); n != rejected {
		t.Errorf("rejected tasks are read from %d sources, want a group of each owner", n)
	}
	if n := combined(t, db, task.Completed); n != 1 {
		t.Errorf("completed tasks are read from %d sources, want one", n)
	}
	var ids, all []a2a.TaskID
	for q := (task.Query{AllOwners: true, Limit: 70}); ; {
		page, err := db.Tasks().List(t.Context(), &q)
		if err != nil {
			t.Fatal(err)
		}
		for i := range page.Heads {
			ids = append(ids, a2a.TaskID(string(page.Heads[i].Owner)+"/"+string(page.Heads[i].ID)))
		}
		if page.Total != total {
			t.Fatalf("total is %d, want %d", page.Total, total)
		}
		if !page.More {
			break
		}
		last := &page.Heads[len(page.Heads)-1]
		q.After = task.Cursor{At: last.StatusAt, Key: last.Key}
	}
	all = slices.Clone(ids)
	slices.Sort(all)
	if n := len(slices.Compact(all)); n != len(ids) || n != total {
		t.Errorf("%d tasks of %d on all pages are different, want %d", n, len(ids), total)
	}
}

func BenchmarkListAllOwners(b *testing.B) {
	db := openTest(b, b.TempDir()+"/db", Options{})
	manyOwners(b, db, 5000)
	for b.Loop() {
		if _, err := db.Tasks().List(b.Context(), &task.Query{AllOwners: true, Limit: 50}); err != nil {
			b.Fatal(err)
		}
	}
}
