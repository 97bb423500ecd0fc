package pgstore

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/internal/cluster"
	"github.com/parley-a2a/parley/internal/task"
	"github.com/parley-a2a/parley/internal/testing/pgtest"
)

// A hub that is alone writes through the address that keeps its session. PgBouncer with its default settings
// accepts few parameters at the start of a session.
func TestPoolerOfSessions(t *testing.T) {
	t.Parallel()
	s := pgtest.Shared(t)
	address := s.Pooler(t, "session").Through(s.Database(t)) + "&statement_timeout=7000"
	db := openTest(t, address, Options{Direct: address})
	put(t, db, "one")
	mustFind(t, db, "one")
	got, err := db.writer.conn.word(t.Context(), "SHOW statement_timeout")
	if err != nil || got != "7s" {
		t.Errorf("statement_timeout: %v, %v, want 7s, that of the address", got, err)
	}
	if _, err := Open(t.Context(), address, Options{Direct: address, LockWait: 10 * time.Millisecond}); !errors.Is(err, ErrInUse) {
		t.Errorf("second Open: %v, want ErrInUse", err)
	}
}

// An address that cannot be used is refused before anything changes.
func TestRefusedAddresses(t *testing.T) {
	t.Parallel()
	s := pgtest.Shared(t)
	url, other := s.Database(t), s.Database(t)
	through := s.Pooler(t, "transaction").Through
	member := asMember("a")
	direct := func(address string) Options {
		o := member
		o.Direct = address
		return o
	}
	for name, tt := range map[string]struct {
		store string
		o     Options
		want  string
	}{
		"alone":            {through(url), Options{}, "set hub_id"},
		"another database": {through(url), direct(other), "another database"},
		"another server":   {through(url), direct(pgtest.Start(t).Database(t)), "another database"},
		"no session":       {through(url), direct(through(url)), "not in session mode"},
		"both alone":       {url, Options{Direct: other}, "another database"},
	} {
		db, err := Open(t.Context(), tt.store, tt.o)
		if err == nil {
			_ = db.Close()
		}
		if !errors.Is(err, ErrRefused) || errors.Is(err, task.ErrUnavailable) || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: Open: %v, want an error that wraps ErrRefused and says %q", name, err, tt.want)
		}
	}
	if db, err := Open(t.Context(), through(url), direct("postgres://127.0.0.1:1/x")); !errors.Is(err, task.ErrUnavailable) {
		t.Errorf("Open with a direct address without a server: %v, %v, want ErrUnavailable", db, err)
	}
	for _, url := range []string{url, other} {
		if names, err := Pending(t.Context(), url); err != nil || len(names) < 9 {
			t.Errorf("Pending after the refusals = %d migrations, %v, want all", len(names), err)
		}
	}
}

// pooled opens two members behind a pooler in transaction mode, and returns the addresses of the database.
func pooled(t *testing.T, direct bool) (a, b *DB, p *pgtest.Pooler, url string) {
	t.Helper()
	s := pgtest.Shared(t)
	url = s.Database(t)
	p = s.Pooler(t, "transaction")
	open := func(id string) *DB {
		o := asMember(id)
		if direct {
			o.Direct = url
		}
		return openTest(t, p.Through(url), o)
	}
	return open("a"), open("b"), p, url
}

// Behind a pooler, a hub whose lease has ended stores nothing, and nothing of a session is left to others.
func TestFenceBehindAPooler(t *testing.T) {
	t.Parallel()
	a, b, p, url := pooled(t, false)
	put(t, a, "one")
	mustFind(t, b, "one")
	s := pgtest.Shared(t)
	s.Exec(t, nameOf(url), "UPDATE parley.hubs SET lease_until = lease_until - 120000 WHERE id = 'a'")
	if n, err := b.Lose(t.Context()); n != 1 || err != nil {
		t.Fatalf("Lose = %d, %v, want 1", n, err)
	}
	if err := a.Tasks().Append(t.Context(), created("late")); !errors.Is(err, cluster.ErrLost) {
		t.Errorf("Append of a lost hub: %v, want ErrLost", err)
	}
	if err := a.Rejoin(t.Context(), "hub:a2"); err != nil {
		t.Fatal(err)
	}
	put(t, a, "two")
	mustFind(t, b, "two")

	// A client that shares the sessions of the hubs finds the settings of the database.
	at, err := parseAddress(p.Through(url), &Options{})
	if err != nil {
		t.Fatal(err)
	}
	c, err := dial(t.Context(), at)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.close() }()
	for _, query := range []string{
		"SHOW search_path", "SHOW enable_seqscan",
		"SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND database = (SELECT oid FROM pg_database WHERE datname = current_database())",
		"SELECT count(*) FROM pg_prepared_statements WHERE name <> ''", "SELECT count(*) FROM pg_listening_channels()",
	} {
		got, err := c.raw.Exec(t.Context(), query).ReadAll()
		if err != nil {
			t.Fatal(err)
		}
		want := map[string]string{"SHOW search_path": "\"$user\", public", "SHOW enable_seqscan": "on"}[query]
		if want == "" {
			want = "0"
		}
		if have := string(got[0].Rows[0][0]); have != want {
			t.Errorf("%s = %s in a session of the pooler, want %s", query, have, want)
		}
	}
}

// Behind a pooler, a hub gets hints through the direct address, or knows that it gets none.
func TestHintsBehindAPooler(t *testing.T) {
	t.Parallel()
	a, b, _, _ := pooled(t, true)
	if b.Polls() {
		t.Error("Polls with a direct address")
	}
	ctx, cancel := context.WithCancel(t.Context())
	hints := make(chan cluster.Hint, 16)
	var wg sync.WaitGroup
	wg.Go(func() {
		if err := b.Listen(ctx, func(h cluster.Hint) { hints <- h }); !errors.Is(err, context.Canceled) {
			t.Errorf("Listen: %v", err)
		}
	})
	defer wg.Wait()
	defer cancel()
	<-hints
	c := created("one")
	if err := a.Tasks().Append(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	if h := <-hints; len(h.Keys) != 1 || h.Keys[0] != c.Next.Key {
		t.Errorf("hint = %+v, want the key %d", h, c.Next.Key)
	}
	a, _, _, _ = pooled(t, false)
	if err := a.Listen(t.Context(), func(cluster.Hint) { t.Error("a hint") }); !a.Polls() || !errors.Is(err, ErrNoHints) {
		t.Errorf("Listen without a direct address: %v, %v", a.Polls(), err)
	}
}

// Without a session that would show its end, a killed hub keeps its id until its lease has ended; one that runs
// keeps it.
func TestSameIDBehindAPooler(t *testing.T) {
	t.Parallel()
	s := pgtest.Shared(t)
	url := s.Database(t)
	address := s.Pooler(t, "transaction").Through(url)
	o := asMember("a")
	o.Lease = 2 * time.Second
	killed := openTest(t, address, o)
	put(t, killed, "one")
	began := time.Now()
	next := openTest(t, address, o)
	if took := time.Since(began); took < time.Second {
		t.Errorf("a hub took over the id after %v, want the end of the lease", took)
	}
	if err := killed.Tasks().Append(t.Context(), created("late")); !errors.Is(err, cluster.ErrLost) {
		t.Errorf("Append of the former hub: %v, want ErrLost", err)
	}
	mustFind(t, next, "one")
	if err := killed.Rejoin(t.Context(), "hub:a2"); !errors.Is(err, ErrInUse) {
		t.Errorf("Rejoin beside the hub with the id: %v, want ErrInUse", err)
	}
	var wg sync.WaitGroup
	defer wg.Wait()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	wg.Go(func() {
		for ctx.Err() == nil {
			_, _ = next.Renew(ctx, cluster.Renewal{Lease: o.Lease})
		}
	})
	if db, err := Open(t.Context(), address, o); !errors.Is(err, ErrInUse) || !strings.Contains(err.Error(), `id "a"`) {
		t.Errorf("Open beside the hub with the id: %v, %v, want ErrInUse that names the id", db, err)
	}
	if db, err := Open(t.Context(), url, Options{LockWait: time.Millisecond}); !errors.Is(err, ErrInUse) {
		t.Errorf("Open alone beside a member: %v, %v, want ErrInUse", db, err)
	}
}

// A hub that is alone keeps members behind a pooler out.
func TestAloneBesideAPooler(t *testing.T) {
	t.Parallel()
	s := pgtest.Shared(t)
	url := s.Database(t)
	openTest(t, url, Options{})
	if db, err := Open(t.Context(), s.Pooler(t, "transaction").Through(url), asMember("a")); !errors.Is(err, ErrInUse) {
		t.Errorf("Open of a member: %v, %v, want ErrInUse", db, err)
	}
}

// A restart of the pooler while hubs write loses no acknowledged change, and both hubs go on.
func TestRestartOfAPooler(t *testing.T) {
	t.Parallel()
	a, b, p, _ := pooled(t, true)
	stored := make(chan string, 4096)
	failed := make(chan bool, 2)
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	for name, db := range map[string]*DB{"a": a, "b": b} {
		wg.Go(func() {
			for i := 0; ctx.Err() == nil; i++ {
				id := fmt.Sprint(name, i)
				err := db.Tasks().Append(context.WithoutCancel(ctx), created(id))
				switch {
				case err == nil:
					select {
					case stored <- id:
					default:
					}
				case errors.Is(err, task.ErrUnavailable):
					select {
					case failed <- true:
					default:
					}
				default:
					t.Errorf("Append: %v, want ErrUnavailable", err)
				}
			}
		})
	}
	for range 3 {
		mustFind(t, b, <-stored)
		mustFind(t, a, <-stored)
		p.Kill()
		<-failed
		if _, err := a.Renew(t.Context(), cluster.Renewal{Lease: time.Minute}); err != nil {
			t.Errorf("Renew through the direct address: %v", err)
		}
		p.Start(t)
	}
	cancel()
	wg.Wait()
	close(stored)
	recovered(t, a)
	for id := range stored {
		if _, err := a.Tasks().Head(t.Context(), "anna", a2a.TaskID(id)); err != nil {
			t.Errorf("Head of an acknowledged task: %v", err)
		}
	}
	put(t, b, "last")
}

// Programs that change nothing work through a pooler; those that need the database alone are refused.
func TestProgramsBehindAPooler(t *testing.T) {
	t.Parallel()
	a, _, p, url := pooled(t, false)
	put(t, a, "one")
	address := p.Through(url)
	if n, err := Examine(t.Context(), address, func(p string) { t.Errorf("problem: %s", p) }); err != nil || n.Tasks != 1 {
		t.Errorf("Examine = %+v, %v", n, err)
	}
	if all, err := Members(t.Context(), address); len(all) != 2 || err != nil {
		t.Errorf("Members = %v, %v", all, err)
	}
	if there, err := Drain(t.Context(), address, "b"); !there || err != nil {
		t.Errorf("Drain = %v, %v", there, err)
	}
	if names, err := Pending(t.Context(), address); names != nil || err != nil {
		t.Errorf("Pending = %v, %v", names, err)
	}
	if _, err := ReadNote(t.Context(), address, "x"); err != nil {
		t.Errorf("ReadNote: %v", err)
	}
	if err := Dump(t.Context(), address, false, nil); !errors.Is(err, ErrRefused) {
		t.Errorf("Dump without hubs: %v, want ErrRefused", err)
	}
	if err := Load(t.Context(), address, nil); !errors.Is(err, ErrRefused) {
		t.Errorf("Load: %v, want ErrRefused", err)
	}
}

// Errors that last until a person acts end the start of a hub, and say what to do.
func TestRefusals(t *testing.T) {
	t.Parallel()
	s := pgtest.Shared(t)
	through := s.Pooler(t, "session").Through
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
