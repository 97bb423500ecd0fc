package pgstore

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/internal/store/sqlstore"
	"github.com/parley-a2a/parley/internal/task"
	"github.com/parley-a2a/parley/internal/testing/pgtest"
)

// created returns a change that creates a task.
func created(id string) *task.Change {
	e := task.Entry{Kind: task.Created, State: task.Submitted, At: 1_790_000_000_000, Body: []byte(`{"messageId":"m1"}`)}
	h := task.Head{ID: a2a.TaskID(id), Owner: "anna", Agent: "echo", ContextID: "c"}
	next, e, err := task.Apply(h, e)
	if err != nil {
		panic(err)
	}
	next.Rev = 1
	return &task.Change{Next: next, Entries: []task.Entry{e}}
}

func put(t *testing.T, db *DB, id string) {
	t.Helper()
	if err := db.Tasks().Append(t.Context(), created(id)); err != nil {
		t.Fatalf("Append: %v", err)
	}
}

func mustFind(t *testing.T, db *DB, ids ...string) {
	t.Helper()
	for _, id := range ids {
		h, err := db.Tasks().Head(t.Context(), "anna", a2a.TaskID(id))
		if err != nil {
			t.Errorf("Head: %v", err)
			continue
		}
		if es, err := db.Tasks().Read(t.Context(), h.Key, 0); len(es) != 1 || err != nil {
			t.Errorf("Read of task %s = %d entries, %v", id, len(es), err)
		}
	}
}

// recovered probes the store until it works again.
func recovered(t *testing.T, db *DB) {
	t.Helper()
	for t.Context().Err() == nil {
		err := db.Tasks().Probe(t.Context())
		if err == nil {
			return
		}
		if !errors.Is(err, task.ErrUnavailable) {
			t.Fatalf("Probe: %v, want ErrUnavailable", err)
		}
	}
}

// A killed database loses no acknowledged change. Meanwhile reads and writes fail as unavailable.
func TestKill(t *testing.T) {
	t.Parallel()
	s := pgtest.Start(t)
	db := openTest(t, s.Database(t), Options{})
	put(t, db, "one")
	mustFind(t, db, "one")
	s.Kill()
	if err := db.Tasks().Append(t.Context(), created("lost")); !errors.Is(err, task.ErrUnavailable) {
		t.Errorf("Append without a database: %v", err)
	}
	if _, err := db.Tasks().Head(t.Context(), "anna", "one"); !errors.Is(err, task.ErrUnavailable) {
		t.Errorf("Head without a database: %v", err)
	}
	s.Launch(t)
	recovered(t, db)
	mustFind(t, db, "one")
	put(t, db, "two")
	mustFind(t, db, "two")
}

// A connection that ended while it was idle costs no caller an error.
func TestRestartBetweenCalls(t *testing.T) {
	t.Parallel()
	s := pgtest.Start(t)
	db := openTest(t, s.Database(t), Options{})
	put(t, db, "one")
	mustFind(t, db, "one")
	s.Stop()
	s.Launch(t)
	put(t, db, "two")
	mustFind(t, db, "one", "two")
}

// A database that stands still makes calls fail within the timeout, and works again afterwards.
func TestFreeze(t *testing.T) {
	t.Parallel()
	s := pgtest.Start(t)
	db := openTest(t, s.Database(t), Options{})
	put(t, db, "one")
	mustFind(t, db, "one")
	limit := func(d time.Duration) { db.writer.o.Timeout, db.readers.timeout = d, d } // no call runs
	limit(100 * time.Millisecond)
	thaw := s.Freeze()
	if err := db.Tasks().Append(t.Context(), created("unknown")); !errors.Is(err, task.ErrUnavailable) {
		t.Errorf("Append to a frozen database: %v", err)
	}
	if _, err := db.Tasks().Head(t.Context(), "anna", "one"); !errors.Is(err, task.ErrUnavailable) {
		t.Errorf("Head of a frozen database: %v", err)
	}
	thaw()
	limit(time.Minute)
	recovered(t, db)
	mustFind(t, db, "one")
}

// A read-only database accepts reads, and writes again once it is writable.
func TestReadOnly(t *testing.T) {
	t.Parallel()
	s := pgtest.Start(t)
	url := s.Database(t)
	name := strings.TrimSuffix(url[strings.LastIndex(url, "/")+1:], "?sslmode=disable")
	db := openTest(t, url, Options{})
	put(t, db, "one")
	set := func(on string) {
		s.Exec(t, "postgres", fmt.Sprintf("ALTER DATABASE %s SET default_transaction_read_only = %s", name, on))
		s.Exec(t, "postgres", "SELECT pg_terminate_backend(pid, 60000) FROM pg_stat_activity WHERE datname = '"+name+"'")
	}
	set("on")
	for range 2 { // the second one uses the connection that was opened for the first
		if err := db.Tasks().Append(t.Context(), created("two")); !errors.Is(err, task.ErrReadOnly) {
			t.Errorf("Append to a read-only database: %v, want ErrReadOnly", err)
		}
	}
	mustFind(t, db, "one")
	set("off")
	put(t, db, "two")
}

// Only one hub uses a database. A hub whose connection was lost does not write after another hub.
func TestOneHub(t *testing.T) {
	t.Parallel()
	s := pgtest.Start(t)
	url := s.Database(t)
	first := openTest(t, url, Options{LockWait: 10 * time.Millisecond})
	put(t, first, "one")
	if _, err := Open(t.Context(), url, Options{LockWait: 10 * time.Millisecond}); !errors.Is(err, ErrInUse) {
		t.Fatalf("second Open: %v, want ErrInUse", err)
	}
	s.Exec(t, "postgres", "SELECT pg_terminate_backend(pid, 60000) FROM pg_stat_activity WHERE application_name = 'parley'")
	second := openTest(t, url, Options{})
	for range 2 {
		err := first.Tasks().Append(t.Context(), created("late"))
		if !errors.Is(err, ErrInUse) || !errors.Is(err, task.ErrUnavailable) {
			t.Errorf("Append of the first hub: %v, want ErrInUse", err)
		}
	}
	put(t, second, "two")
	if err := second.Close(); err != nil {
		t.Fatal(err)
	}
	if err := first.Tasks().Append(t.Context(), created("later")); !errors.Is(err, ErrInUse) {
		t.Errorf("Append of the first hub after the second: %v, want ErrInUse", err)
	}
}

// Schemas that this program does not know are refused, and not changed.
func TestRefusedSchemas(t *testing.T) {
	t.Parallel()
	s := pgtest.Shared(t)
	for name, tt := range map[string]struct {
		sql  string
		want error
	}{
		"foreign":   {"DROP SCHEMA parley CASCADE; CREATE SCHEMA parley; CREATE TABLE parley.mine (a int)", ErrForeign},
		"newer":     {"INSERT INTO parley.migrations VALUES ((SELECT max(step) + 1 FROM parley.migrations), 'x', 'x', 0); UPDATE parley.sequence SET least = 99", ErrNewer},
		"expanded":  {"INSERT INTO parley.migrations VALUES ((SELECT max(step) + 1 FROM parley.migrations), 'x', 'x', 0)", nil},
		"different": {"UPDATE parley.migrations SET checksum = 'other'", ErrForeign},
		"gap":       {"UPDATE parley.migrations SET step = 99 WHERE step = 1", ErrDamaged},
		"emptied":   {"DELETE FROM parley.sequence", ErrDamaged},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url := s.Database(t)
			db, err := Open(t.Context(), url, Options{})
			if err != nil {
				t.Fatal(err)
			}
			if err := db.Close(); err != nil {
				t.Fatal(err)
			}
			s.Exec(t, url[strings.LastIndex(url, "/")+1:strings.Index(url, "?")], tt.sql)
			db, err = Open(t.Context(), url, Options{})
			if !errors.Is(err, tt.want) {
				t.Errorf("Open: %v, want %v", err, tt.want)
			}
			if err == nil {
				put(t, db, "one")
				err = db.Close()
			}
			if tt.want == nil && err != nil {
				t.Error(err)
			}
			if tt.want != nil {
				return
			}
			if err := Dump(t.Context(), url, true, nil); !errors.Is(err, ErrNewer) { // it would lack the newer tables
				t.Errorf("Dump: %v, want ErrNewer", err)
			}
		})
	}
}

// A schema of any earlier layout is migrated, and its tasks stay.
func TestOlderSchemas(t *testing.T) {
	t.Parallel()
	steps, err := sqlstore.Migrations(schema)
	if err != nil {
		t.Fatal(err)
	}
	for have := 1; have < len(steps); have++ {
		t.Run(steps[have-1].Name, func(t *testing.T) {
			t.Parallel()
			url := pgtest.Shared(t).Database(t)
			config, err := parseAddress(url, &Options{Timeout: time.Minute})
			if err != nil {
				t.Fatal(err)
			}
			c, err := dial(t.Context(), config)
			if err != nil {
				t.Fatal(err)
			}
			// The owner and the scope of a task that an older hub has stored.
			const stored = "INSERT INTO owners (name) VALUES ('anna'); INSERT INTO scopes (owner, agent) SELECT id, 'echo' FROM owners"
			if err := errors.Join(migrate(t.Context(), c, steps[:have]), c.script(t.Context(), stored), c.close()); err != nil {
				t.Fatal(err)
			}
			db := openTest(t, url, Options{})
			put(t, db, "one")
			mustFind(t, db, "one")
			again, err := db.Topics(t.Context()) // a table of a later step
			if err != nil || len(again) != 0 {
				t.Errorf("Topics = %v, %v", again, err)
			}
		})
	}
}

// TestOtherEncoding: a database with another encoding is refused, with its name and the remedy.
func TestOtherEncoding(t *testing.T) {
	t.Parallel()
	s := pgtest.Shared(t)
	for _, encoding := range []string{"LATIN1", "SQL_ASCII"} {
		name := "other_" + strings.ToLower(encoding)
		s.Exec(t, "postgres", "CREATE DATABASE "+name+" ENCODING '"+encoding+"' TEMPLATE template0 LOCALE_PROVIDER libc LOCALE 'C'")
		db, err := Open(t.Context(), s.URL(name), Options{})
		if !errors.Is(err, ErrEncoding) || !strings.Contains(err.Error(), encoding+": create one") || !strings.Contains(err.Error(), "/"+name) {
			t.Errorf("Open of a database with encoding %s: %v", encoding, err)
		}
		if err == nil {
			if err := db.Close(); err != nil {
				t.Error(err)
			}
		}
		s.Exec(t, "postgres", "DROP DATABASE "+name)
	}
}

// No error contains the password of an address.
func TestPassword(t *testing.T) {
	t.Parallel()
	s := pgtest.Shared(t)
	const password = "s3cret-word"
	for _, address := range []string{
		"postgres://u:" + password + "@127.0.0.1:1/d", "postgres://u:" + password + "@[::1/d", "postgres://u:" + password + "@h:x/d",
		fmt.Sprintf("postgres://u:%s@127.0.0.1:%d/d?sslmode=disable", password, s.Port()), "password=" + password + " port=x",
		fmt.Sprintf("postgres://parley:%s@127.0.0.1:%d/none?sslmode=disable", password, s.Port()),
	} {
		_, err := Open(t.Context(), address, Options{})
		if err == nil || strings.Contains(err.Error(), password) {
			t.Errorf("Open(%s): %v", address, err)
		}
	}
}

// A setting in the address that the database refuses does not get better with time.
func TestRefusedSettings(t *testing.T) {
	t.Parallel()
	s := pgtest.Shared(t)
	for _, setting := range []string{"foo=bar", "work_mem=much"} {
		address := fmt.Sprintf("postgres://parley@127.0.0.1:%d/postgres?sslmode=disable&%s", s.Port(), setting)
		db, err := Open(t.Context(), address, Options{})
		if err == nil {
			_ = db.Close()
		}
		name, _, _ := strings.Cut(setting, "=")
		if !errors.Is(err, ErrRefused) || errors.Is(err, task.ErrUnavailable) || !strings.Contains(err.Error(), name) {
			t.Errorf("Open with %s: %v, want an error that wraps ErrRefused and names it", setting, err)
		}
	}
}

// Texts may contain any bytes, whatever the encoding of the database.
func TestAnyBytes(t *testing.T) {
	t.Parallel()
	db := newTest(t)
	for _, id := range []string{"", "\x00", "a\x00b", "\xff\xfe", "0123456789abcde", "123e4567-e89b-12d3-a456-426614174000"} {
		c := created(id)
		c.Alias, c.Request = "alias "+id, &task.Request{Key: "key " + id, Fingerprint: []byte("f")}
		if err := db.Tasks().Append(t.Context(), c); err != nil {
			t.Errorf("Append of %q: %v", id, err)
			continue
		}
		if h, err := db.Tasks().ByAlias(t.Context(), "anna", "echo", "alias "+id); string(h.ID) != id || err != nil {
			t.Errorf("ByAlias = %q, %v, want %q", h.ID, err, id)
		}
		if r, err := db.Tasks().Request(t.Context(), "anna", "echo", "key "+id); string(r.Head.ID) != id || err != nil {
			t.Errorf("Request = %q, %v, want %q", r.Head.ID, err, id)
		}
	}
}

// TestDamageIsCounted reads damaged entries and a damaged head. Each is counted once and reported
// each time; other tasks are read.
func TestDamageIsCounted(t *testing.T) {
	t.Parallel()
	url := pgtest.Shared(t).Database(t)
	var mu sync.Mutex
	reports, first := 0, 0
	db := openTest(t, url, Options{Damaged: func(d Damage) {
		mu.Lock()
		defer mu.Unlock()
		reports++
		if d.First {
			first++
		}
		if !errors.Is(d.Err, ErrDamaged) {
			t.Errorf("damage = %v, want ErrDamaged", d.Err)
		}
	}})
	for _, id := range []string{"t1", "t2", "t3"} {
		put(t, db, id)
	}
	bad, err := db.Tasks().Head(t.Context(), "anna", "t1")
	if err != nil {
		t.Fatal(err)
	}
	for _, sql := range []string{
		"UPDATE parley.entries SET data = set_byte(data, octet_length(data) - 3, 254) WHERE place >> 24 = (SELECT key FROM parley.tasks WHERE id = 't' || 't1'::bytea)",
		"UPDATE parley.tasks SET rest = '\\xff' WHERE id = 't' || 't2'::bytea",
	} {
		c, err := alone(t.Context(), url, false)
		if err == nil {
			err = errors.Join(c.script(t.Context(), sql), c.close())
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	for range 3 {
		if _, err := db.Tasks().Read(t.Context(), bad.Key, 0); !errors.Is(err, ErrDamaged) || !errors.Is(err, task.ErrUnavailable) {
			t.Errorf("read of damaged entries = %v, want ErrDamaged", err)
		}
		if _, err := db.Tasks().Head(t.Context(), "anna", "t2"); !errors.Is(err, ErrDamaged) {
			t.Errorf("read of a damaged head = %v, want ErrDamaged", err)
		}
	}
	// In a list, the damaged head takes no other with it.
	if due, err := db.Tasks().Due(t.Context(), 0, 3); len(due) != 3 || due[1].ID != "t2" || err != nil {
		t.Errorf("Due with a damaged head = %+v, %v; want 3 heads", due, err)
	}
	mustFind(t, db, "t3")
	mu.Lock()
	defer mu.Unlock()
	if n := db.Damages(); n != 2 || first != 2 || reports != 7 {
		t.Errorf("%d damages, %d reports of which %d first; want 2, 7 and 2", n, reports, first)
	}
}
