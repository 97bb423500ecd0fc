package pgstore

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/parley-a2a/parley/internal/cluster"
	"github.com/parley-a2a/parley/internal/testing/pgtest"
	"github.com/parley-a2a/parley/task"
)

func asMember(id string) Options {
	return Options{
		Member:   &cluster.Hub{ID: id, Holder: task.Holder("hub:" + id), Version: "v1", Config: "c1", Address: "http://" + id},
		LockWait: 10 * time.Millisecond, Lease: time.Minute,
	}
}

// nameOf returns the name of the database at an address of pgtest.
func nameOf(url string) string { return url[strings.LastIndex(url, "/")+1 : strings.Index(url, "?")] }

// Two members that write at the same time store all tasks under different keys, in one timeline
// without a gap, with right totals.
func TestTwoWriters(t *testing.T) {
	t.Parallel()
	url := pgtest.Shared(t).Database(t)
	hubs := []*DB{openTest(t, url, asMember("a")), openTest(t, url, asMember("b"))}
	const each = 40
	var wg sync.WaitGroup
	for i, db := range hubs {
		for n := range each {
			wg.Go(func() { put(t, db, fmt.Sprintf("%d-%d", i, n)) })
		}
	}
	wg.Wait()
	for _, db := range hubs {
		page, err := db.Tasks().List(t.Context(), &task.Query{Owner: "anna", Limit: 100})
		if err != nil || page.Total != 2*each || len(page.Heads) != 2*each {
			t.Errorf("List = %d tasks of %d, %v, want %d", len(page.Heads), page.Total, err, 2*each)
		}
		moments, err := db.Tasks().Timeline(t.Context(), 0, 200)
		if err != nil {
			t.Fatal(err)
		}
		keys := make(map[task.Key]bool)
		for i, m := range moments.Moments {
			if m.Seq != int64(i+1) {
				t.Errorf("moment %d has the position %d", i+1, m.Seq)
			}
			keys[m.Key] = true
		}
		if len(keys) != 2*each {
			t.Errorf("the timeline has %d tasks, want %d", len(keys), 2*each)
		}
	}
}

// Members that write in turn, or that join again after others have written, extend one timeline.
func TestAlternating(t *testing.T) {
	t.Parallel()
	s := pgtest.Shared(t)
	url := s.Database(t)
	a, b := openTest(t, url, asMember("a")), openTest(t, url, asMember("b"))
	for n := range 3 {
		put(t, a, fmt.Sprint("a", n))
		put(t, b, fmt.Sprint("b", n))
	}
	put(t, a, "last")
	s.Exec(t, nameOf(url), "UPDATE parley.hubs SET lease_until = lease_until - 120000 WHERE id = 'a'")
	if n, err := b.Lose(t.Context()); n != 1 || err != nil {
		t.Fatalf("Lose = %d, %v, want 1", n, err)
	}
	put(t, b, "meanwhile")
	if err := a.Rejoin(t.Context(), "hub:a2"); err != nil {
		t.Fatal(err)
	}
	put(t, a, "again")
	if page, err := a.Tasks().Timeline(t.Context(), 0, 20); err != nil || page.Newest != 9 {
		t.Errorf("Timeline = %+v, %v, want 9 moments", page, err)
	}
}

// A member counts the tasks that others have at work for an owner: not its own, not those that wait for
// their caller or have ended, and not those of other owners.
func TestAtWork(t *testing.T) {
	t.Parallel()
	url := pgtest.Shared(t).Database(t)
	a, b := openTest(t, url, asMember("a")), openTest(t, url, asMember("b"))
	store := func(db *DB, id string, state task.State, d task.Dispatch) {
		t.Helper()
		c := created(id)
		c.Next.State, c.Next.Run.Dispatch, c.Next.Run.Holder = state, d, db.member.o.Member.Holder
		if err := db.Tasks().Append(t.Context(), c); err != nil {
			t.Fatal(err)
		}
	}
	store(a, "runs", task.Working, task.Claimed)
	store(a, "waits", task.Submitted, task.Pending)
	store(a, "idle", task.InputRequired, task.Idle)
	store(a, "ended", task.Completed, task.Idle)
	store(b, "other", task.Working, task.Claimed)
	for _, c := range []struct {
		db          *DB
		owner       task.Owner
		limit, want int
	}{{b, "anna", 10, 2}, {a, "anna", 10, 1}, {b, "anna", 1, 1}, {b, "bob", 10, 0}} {
		if n, err := c.db.Tasks().AtWork(t.Context(), c.owner, c.db.member.o.Member.Holder, c.limit); n != c.want || err != nil {
			t.Errorf("AtWork for %s at %s = %d, %v, want %d", c.owner, c.db.member.o.Member.ID, n, err, c.want)
		}
	}
}

// Of two members that store a request with one key at the same time, one gets ErrKeyUsed.
func TestKeyAtTwoHubs(t *testing.T) {
	t.Parallel()
	url := pgtest.Shared(t).Database(t)
	hubs := []*DB{openTest(t, url, asMember("a")), openTest(t, url, asMember("b"))}
	for n := range 20 {
		var wg sync.WaitGroup
		errs := make([]error, len(hubs))
		for i, db := range hubs {
			wg.Go(func() {
				c := created(fmt.Sprintf("%d-%d", i, n))
				c.Request = &task.Request{Key: fmt.Sprint("key ", n), Fingerprint: []byte("f"), At: 10, Since: 1}
				errs[i] = db.Tasks().Append(t.Context(), c)
			})
		}
		wg.Wait()
		if used := errors.Is(errs[0], task.ErrKeyUsed); used == errors.Is(errs[1], task.ErrKeyUsed) || errs[0] != nil && errs[1] != nil {
			t.Fatalf("Append = %v, want one success and one ErrKeyUsed", errs)
		}
	}
}

// A hub that uses the database alone keeps members out, and the reverse; two members have
// different ids.
func TestMembersOnly(t *testing.T) {
	t.Parallel()
	url := pgtest.Shared(t).Database(t)
	alone := openTest(t, url, Options{LockWait: 10 * time.Millisecond})
	if _, err := Open(t.Context(), url, asMember("a")); !errors.Is(err, ErrInUse) {
		t.Errorf("Open of a member beside a hub that is alone: %v, want ErrInUse", err)
	}
	if err := alone.Close(); err != nil {
		t.Fatal(err)
	}
	a := openTest(t, url, asMember("a"))
	if _, err := Open(t.Context(), url, Options{LockWait: 10 * time.Millisecond}); !errors.Is(err, ErrInUse) {
		t.Errorf("Open alone beside a member: %v, want ErrInUse", err)
	}
	if _, err := Open(t.Context(), url, asMember("a")); !errors.Is(err, ErrInUse) || !strings.Contains(err.Error(), `id "a"`) {
		t.Errorf("Open with the same id: %v, want ErrInUse that names the id", err)
	}
	put(t, a, "one")
}

func ids(all []cluster.Member) (ids []string) {
	for _, m := range all {
		ids = append(ids, m.ID)
	}
	return ids
}

// A member whose lease has ended is lost: it stores nothing until it has joined again.
func TestLost(t *testing.T) {
	t.Parallel()
	s := pgtest.Shared(t)
	url := s.Database(t)
	a, b := openTest(t, url, asMember("a")), openTest(t, url, asMember("b"))
	put(t, a, "one")
	if n, err := b.Lose(t.Context()); n != 0 || err != nil {
		t.Fatalf("Lose with all leases = %d, %v", n, err)
	}
	s.Exec(t, nameOf(url), "UPDATE parley.hubs SET lease_until = lease_until - 120000 WHERE id = 'a'")
	if n, err := b.Lose(t.Context()); n != 1 || err != nil {
		t.Fatalf("Lose = %d, %v, want 1", n, err)
	}
	if err := a.Tasks().Append(t.Context(), created("late")); !errors.Is(err, cluster.ErrLost) || !errors.Is(err, task.ErrUnavailable) {
		t.Errorf("Append of a lost hub: %v, want ErrLost", err)
	}
	if err := a.Tasks().Probe(t.Context()); !errors.Is(err, cluster.ErrLost) {
		t.Errorf("Probe of a lost hub: %v, want ErrLost", err)
	}
	if _, err := a.Renew(t.Context(), time.Minute, 0); !errors.Is(err, cluster.ErrLost) {
		t.Errorf("Renew of a lost hub: %v, want ErrLost", err)
	}
	if all, err := b.Renew(t.Context(), time.Minute, 3); err != nil || !slices.Equal(ids(all), []string{"b"}) {
		t.Errorf("Renew = %v, %v, want b alone", ids(all), err)
	}
	put(t, b, "meanwhile")
	if err := a.Rejoin(t.Context(), "hub:a2"); err != nil {
		t.Fatal(err)
	}
	put(t, a, "two")
	if page, err := a.Tasks().Timeline(t.Context(), 0, 9); err != nil || page.Newest != 3 {
		t.Errorf("Timeline = %+v, %v, want 3 moments", page, err)
	}
	all, err := Members(t.Context(), url)
	if err != nil || !slices.Equal(ids(all), []string{"b", "a"}) || all[0].Tasks != 3 || all[0].Lease <= 0 || all[0].Address != "http://b" {
		t.Errorf("Members = %+v, %v", all, err)
	}
	if _, err := a.Tasks().Head(t.Context(), "anna", "late"); !errors.Is(err, task.ErrNotFound) {
		t.Errorf("Head of the refused task: %v, want ErrNotFound", err)
	}
}

// Members get a hint for each commit of another member, and none for their own.
func TestHints(t *testing.T) {
	t.Parallel()
	url := pgtest.Shared(t).Database(t)
	a, b := openTest(t, url, asMember("a")), openTest(t, url, asMember("b"))
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
	if h := <-hints; !h.All || !h.Members {
		t.Errorf("first hint = %+v, want all", h)
	}
	put(t, b, "own")
	c := created("one")
	if err := a.Tasks().Append(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	if h := <-hints; !slices.Equal(h.Keys, []task.Key{c.Next.Key}) || h.All {
		t.Errorf("hint = %+v, want the key %d", h, c.Next.Key)
	}
	if there, err := Drain(t.Context(), url, "b"); !there || err != nil {
		t.Errorf("Drain = %v, %v", there, err)
	}
	if h := <-hints; !h.Members {
		t.Errorf("hint after Drain = %+v, want members", h)
	}
	if all, err := b.Renew(t.Context(), time.Minute, 0); err != nil || len(all) != 2 || all[0].Drain || !all[1].Drain {
		t.Errorf("Renew = %+v, %v, want b to drain", all, err)
	}
	if there, err := Drain(t.Context(), url, "c"); there || err != nil {
		t.Errorf("Drain of no hub = %v, %v", there, err)
	}
}

// A hint with too many tasks names none.
func TestLongHint(t *testing.T) {
	t.Parallel()
	w := &writer{turn: turn{got: new(reply), others: true}}
	for key := range task.Key(4000) {
		w.turn.changed(key + 1<<30)
	}
	if !w.turn.full || len(w.turn.hint) > maxHint+16 {
		t.Errorf("hint of %d bytes, full: %v", len(w.turn.hint), w.turn.full)
	}
	if h, ok := parseHint("a *", 11); !ok || !h.All {
		t.Errorf("parseHint = %+v, %v", h, ok)
	}
	if h, ok := parseHint("a @inbox", 11); !ok || !h.Data || h.All {
		t.Errorf("parseHint = %+v, %v; want other data alone", h, ok)
	}
}

// A member that stands still within a transaction holds up the others for half a lease at most.
func TestStuckTurn(t *testing.T) {
	t.Parallel()
	url := pgtest.Shared(t).Database(t)
	b := openTest(t, url, asMember("b")) // changes the schema, without the short lease
	o := asMember("a")
	o.Lease = 4 * time.Second // a busy machine opens the store within half of it
	a := openTest(t, url, o)
	held, release := make(chan bool), make(chan bool)
	var wg sync.WaitGroup
	defer wg.Wait()
	defer close(release) // also after a failure
	wg.Go(func() {
		_ = a.write(context.Background(), func(w *writer) error {
			if err := w.conn.sync(); err != nil {
				t.Error(err)
			}
			close(held)
			<-release
			return nil
		})
	})
	<-held
	put(t, b, "one") // waits until the database ends the transaction
}

// TestHubsOfTheVersionBefore opens a database of the layout before checksums. While hubs of that
// version run, which could not read what this one writes, it is refused; afterwards it is changed, and
// its rows without checksums are read.
func TestHubsOfTheVersionBefore(t *testing.T) {
	t.Parallel()
	s := pgtest.Shared(t)
	url := s.Database(t)
	running, err := Open(t.Context(), url, asMember("a"))
	if err != nil {
		t.Fatal(err)
	}
	put(t, running, "t1")
	s.Exec(t, nameOf(url), `DELETE FROM parley.migrations WHERE step = 6; UPDATE parley.sequence SET least = 1;
		UPDATE parley.entries SET data = substr(data, 6); UPDATE parley.tasks SET rest = substr(rest, 6)`)
	if db, err := Open(t.Context(), url, asMember("b")); !errors.Is(err, ErrInUse) || !strings.Contains(err.Error(), "1 hubs of an earlier version") {
		t.Errorf("Open = %v, want ErrInUse that names the hubs", err)
		if err == nil {
			_ = db.Close()
		}
	}
	if err := running.Close(); err != nil {
		t.Fatal(err)
	}
	db := openTest(t, url, asMember("b"))
	mustFind(t, db, "t1")
	put(t, db, "t2")
	mustFind(t, db, "t2")
	n, err := Examine(t.Context(), url, func(p string) { t.Errorf("problem: %s", p) })
	if err != nil || n.Tasks != 2 {
		t.Errorf("Examine = %+v, %v", n, err)
	}
}
