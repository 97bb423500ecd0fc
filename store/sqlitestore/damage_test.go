package sqlitestore

import (
	"errors"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/parley-a2a/parley/internal/store/sqlstore"
	"github.com/parley-a2a/parley/task"
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
			tt.spoil(t, path)
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

// TestDamageAtTheEndOfAPage: the last head of a page is damaged, after which no row is read. The
// connection is not used again, so that it does not hold a snapshot of the file.
func TestDamageAtTheEndOfAPage(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "db")
	fill(t, path)
	sql(t, path, "UPDATE tasks SET rest = x'00' WHERE id = 't7'")
	var met reports
	tasks := openTest(t, path, Options{Damaged: met.add, Readers: 1}).Tasks()
	if due, err := tasks.Due(t.Context(), 0, 7); len(due) != 7 || err != nil {
		t.Fatalf("Due before the damaged head = %d heads, %v; want 7", len(due), err)
	}
	for range 2 {
		if due, err := tasks.Due(t.Context(), 0, 8); len(due) > 0 || !errors.Is(err, ErrDamaged) || !errors.Is(err, task.ErrCorrupt) {
			t.Errorf("Due up to the damaged head = %d heads, %v; want ErrDamaged", len(due), err)
		}
	}
	if len(met.all) != 2 {
		t.Errorf("%d reports of damage, want 2", len(met.all))
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
