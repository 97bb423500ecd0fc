package sqlitestore

import (
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/parley-a2a/parley/internal/store/sqlstore"
	"github.com/parley-a2a/parley/internal/task"
	"github.com/parley-a2a/parley/internal/testing/suite/tasktest"
)

// reports collects the damages of a store.
type reports struct {
	mu  sync.Mutex
	all []Damage
}

func (r *reports) add(d Damage) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.all = append(r.all, d)
}

// rootPage overwrites the first page of a table or index of a closed file.
func rootPage(t *testing.T, path, name string) {
	t.Helper()
	c, err := openConn(connOptions{path: path, cache: 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	page, err := c.number("SELECT rootpage FROM sqlite_schema WHERE name = '" + name + "'")
	if err = errors.Join(err, c.close()); err != nil {
		t.Fatal(err)
	}
	text := read(t, path)
	at := int(page-1) * 4096
	write(t, path, text[:at]+strings.Repeat("damage", 683)[:4096]+text[at+4096:])
}

// beside gives the task t7 a status with a text, and data beside it.
func beside(t *testing.T, path string) {
	t.Helper()
	db, err := Open(path, Options{})
	if err != nil {
		t.Fatal(err)
	}
	tasks := db.Tasks()
	e := status(task.Working, 100)
	e.Body = []byte(`{"messageId":"m2","parts":[{"text":"working"}]}`)
	c := step(t, headOf(t, tasks, "anna", "t7"), e)
	c.Sidecars[task.SidecarCheckpoint] = []byte("here")
	c.Journal = []task.Record{{Number: 1, Data: []byte("done")}}
	if err := tasks.Append(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	if err := tasks.SaveSnapshot(t.Context(), c.Next.Key, task.Snapshot{Version: 2, Data: []byte("both")}); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
}

// flip changes the last byte of a column in all rows, without a change of its structure.
func flip(t *testing.T, path, table, column string) {
	t.Helper()
	sql(t, path, fmt.Sprintf("UPDATE %s SET %[2]s = CAST(substr(%[2]s, 1, length(%[2]s) - 1) || x'fe' AS BLOB)", table, column))
}

// TestDamageIsReported reads data that was overwritten. Each read fails as damaged, and is
// reported with the task; the first one of a task says so.
func TestDamageIsReported(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		spoil func(t *testing.T, path string)
		read  func(t *testing.T, tasks Tasks, key task.Key) error
	}{
		"page of entries": {
			func(t *testing.T, path string) { rootPage(t, path, "entries") },
			func(t *testing.T, tasks Tasks, key task.Key) error {
				_, err := tasks.Read(t.Context(), key, 0)
				return err
			},
		},
		"entry": {
			func(t *testing.T, path string) { sql(t, path, "UPDATE entries SET data = x'ff00'") },
			func(t *testing.T, tasks Tasks, key task.Key) error {
				_, err := tasks.Read(t.Context(), key, 0)
				return err
			},
		},
		"text in an entry": {
			func(t *testing.T, path string) { flip(t, path, "entries", "data") },
			func(t *testing.T, tasks Tasks, key task.Key) error {
				_, err := tasks.Read(t.Context(), key, 0)
				return err
			},
		},
		"text in a head": {
			func(t *testing.T, path string) { flip(t, path, "tasks", "rest") },
			func(t *testing.T, tasks Tasks, _ task.Key) error {
				_, err := tasks.Head(t.Context(), "anna", "t7")
				return err
			},
		},
		"snapshot": {
			func(t *testing.T, path string) { flip(t, path, "snapshots", "data") },
			func(t *testing.T, tasks Tasks, key task.Key) error {
				_, err := tasks.Snapshot(t.Context(), key)
				return err
			},
		},
		"sidecar": {
			func(t *testing.T, path string) { flip(t, path, "sidecars", "data") },
			func(t *testing.T, tasks Tasks, key task.Key) error {
				_, err := tasks.Sidecar(t.Context(), key, task.SidecarCheckpoint)
				return err
			},
		},
		"journal": {
			func(t *testing.T, path string) { flip(t, path, "journal", "data") },
			func(t *testing.T, tasks Tasks, key task.Key) error {
				_, err := tasks.Journal(t.Context(), key, 0)
				return err
			},
		},
		"head": {
			func(t *testing.T, path string) { sql(t, path, "UPDATE tasks SET rest = x'ff00'") },
			func(t *testing.T, tasks Tasks, _ task.Key) error {
				_, err := tasks.Head(t.Context(), "anna", "t7")
				return err
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "db")
			fill(t, path)
			beside(t, path)
			if found, _ := problems(t, path); len(found) > 0 {
				t.Fatalf("Examine before the damage found %q", found)
			}
			tt.spoil(t, path)
			if found, _ := problems(t, path); len(found) == 0 {
				t.Error("Examine found nothing")
			}
			var met reports
			db := openTest(t, path, Options{Damaged: met.add})
			key := keyOf(t, db, "t7")
			for i := range 3 {
				err := tt.read(t, db.Tasks(), key)
				if !errors.Is(err, ErrDamaged) || !errors.Is(err, task.ErrCorrupt) {
					t.Fatalf("read = %v, want ErrDamaged and task.ErrCorrupt", err)
				}
				if len(met.all) != i+1 {
					t.Fatalf("after read %d there are %d reports", i, len(met.all))
				}
				if d := met.all[i]; d.Task != "t7" || d.First != (i == 0) || !errors.Is(d.Err, ErrDamaged) {
					t.Errorf("report %d = %+v", i, d)
				}
			}
			if n := db.Damages(); n != 1 {
				t.Errorf("Damages = %d, want 1", n)
			}
		})
	}
}

// TestListsWithADamagedHead: a damaged head takes no other with it. It is reported, and a list has its
// columns alone.
func TestListsWithADamagedHead(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "db")
	fill(t, path)
	beside(t, path)
	for _, rest := range []string{"x'00'", "CAST(substr(rest, 1, length(rest) - 1) || x'fe' AS BLOB)"} {
		sql(t, path, "UPDATE tasks SET rest = "+rest+" WHERE id = 't7'")
		var met reports
		tasks := openTest(t, path, Options{Damaged: met.add, Readers: 1}).Tasks()
		due, err := tasks.Due(t.Context(), 0, 9)
		if len(due) != 9 || due[7].ID != "t7" || due[7].Owner != "anna" || due[7].State != task.Working || due[7].StatusMessage != nil || err != nil {
			t.Errorf("Due with rest %s = %+v, %v; want 9 heads, t7 with its columns", rest, due, err)
		}
		for name, q := range map[string]*task.Query{
			"owner": {Owner: "anna"}, "context": {Owner: "anna", ContextID: "context-t7"}, "ids": {Owner: "anna", IDPrefix: "t"}, "all": {AllOwners: true},
		} {
			q.Limit = 50
			page, err := tasks.List(t.Context(), q)
			want := 50
			if name == "context" {
				want = 1
			}
			if err != nil || len(page.Heads) != want {
				t.Errorf("List of %s with rest %s = %d heads, %v", name, rest, len(page.Heads), err)
			}
		}
		if n := len(met.all); n != 5 || met.all[0].Task != "t7" || !met.all[0].First || !errors.Is(met.all[0].Err, ErrDamaged) {
			t.Errorf("%d reports of damage, want 5 of t7: %+v", n, met.all)
		}
		if _, err := tasks.Head(t.Context(), "anna", "t7"); !errors.Is(err, task.ErrCorrupt) {
			t.Errorf("Head with rest %s = %v, want ErrCorrupt", rest, err)
		}
	}
}

// keyOf returns the key of a task without reading its head.
func keyOf(t *testing.T, db *DB, id string) (key task.Key) {
	t.Helper()
	err := db.read(t.Context(), func(c *conn) error {
		n, err := c.number("SELECT key FROM tasks WHERE id = '" + id + "'")
		key = task.Key(n)
		return err
	})
	if err != nil || key == 0 {
		t.Fatalf("key of %s: %d, %v", id, key, err)
	}
	return key
}

// TestDamageOfACommitIsReported: a write meets damage, too.
func TestDamageOfACommitIsReported(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "db")
	fill(t, path)
	rootPage(t, path, "counters")
	var met reports
	db := openTest(t, path, Options{Damaged: met.add})
	err := db.Tasks().Append(t.Context(), step(t, newHead("anna", "new"), created(1)))
	if !errors.Is(err, ErrDamaged) || len(met.all) != 1 || !met.all[0].First {
		t.Errorf("Append = %v with reports %+v, want one damage", err, met.all)
	}
}

// TestDamagesAreBounded: the memory for damaged objects is limited, the reports are not.
func TestDamagesAreBounded(t *testing.T) {
	t.Parallel()
	var met reports
	db := &DB{damages: damages{report: met.add}}
	for i := range sqlstore.MaxDamages + 5 {
		db.met(subject{id: "t"}, errClosed)
		db.met(subject{}, unavailable(errors.Join(task.ErrCorrupt, errors.New(strconv.Itoa(i)))))
	}
	if n := db.Damages(); n != sqlstore.MaxDamages || len(met.all) != sqlstore.MaxDamages+5 || met.all[sqlstore.MaxDamages].First {
		t.Errorf("%d damages, %d reports; want %d and %d", n, len(met.all), sqlstore.MaxDamages, sqlstore.MaxDamages+5)
	}
}

// The index of texts passes over damaged tasks: a search finds the others.
func TestTextsBesideDamage(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		spoil func(t *testing.T, path string)
		found int
	}{
		"entry": {func(t *testing.T, path string) {
			sql(t, path, "UPDATE entries SET data = x'ff00' WHERE place >> 24 = (SELECT key FROM tasks ORDER BY key LIMIT 1)")
		}, 2},
		"page of entries": {func(t *testing.T, path string) { rootPage(t, path, "entries") }, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "parley.db")
			db, err := Open(path, Options{})
			if err != nil {
				t.Fatal(err)
			}
			for i := range 3 {
				e := created(task.Millis(i + 1))
				e.Body = []byte(`{"messageId":"m","parts":[{"text":"apple"}]}`)
				put(t, db.Tasks(), newHead("anna", fmt.Sprint("t", i)), e)
			}
			if err := db.Close(); err != nil {
				t.Fatal(err)
			}
			tt.spoil(t, path)
			if db, err = Open(path, Options{}); err != nil {
				t.Fatal(err)
			}
			defer db.Close()
			tasktest.IndexTexts(t, db.Tasks(), 10)
			page, err := db.Tasks().List(t.Context(), &task.Query{Owner: "anna", Text: "apple", Limit: 10})
			if err != nil || len(page.Heads) != tt.found || page.Partial {
				t.Errorf("List = %d tasks, partial %v, %v; want %d", len(page.Heads), page.Partial, err, tt.found)
			}
		})
	}
}
