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
	"github.com/parley-a2a/parley/internal/store/sqlstore"
	"github.com/parley-a2a/parley/internal/task"
	"github.com/parley-a2a/parley/internal/testing/pgtest"
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
	if _, err := a.Renew(t.Context(), cluster.Renewal{Lease: time.Minute}); !errors.Is(err, cluster.ErrLost) {
		t.Errorf("Renew of a lost hub: %v, want ErrLost", err)
	}
	if all, err := b.Renew(t.Context(), cluster.Renewal{Lease: time.Minute, Runs: 3}); err != nil || !slices.Equal(ids(all), []string{"b"}) {
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
	if all, err := b.Renew(t.Context(), cluster.Renewal{Lease: time.Minute}); err != nil || len(all) != 2 || all[0].Drain || !all[1].Drain {
		t.Errorf("Renew = %+v, %v, want b to drain", all, err)
	}
	if there, err := Drain(t.Context(), url, "c"); there || err != nil {
		t.Errorf("Drain of no hub = %v, %v", there, err)
	}
}

// A hint with too many tasks names none.
func TestLongHint(t *testing.T) {
	t.Parallel()
	var h hint
	for key := range task.Key(4000) {
		h.changed(key+1<<30, key == 7)
	}
	if !h.full || len(h.text) > maxHint || string(h.payload(10)) != "a -hra0hz *" {
		t.Errorf("hint of %d bytes, full: %v, sent as %.20q", len(h.text), h.full, h.payload(10))
	}
	for key := range task.Key(4000) {
		h.changed(key+1<<30, true)
	}
	if got := len(h.payload(1 << 60)); got >= 8000 {
		t.Errorf("hint of %d bytes", got)
	}
	if h, ok := parseHint("a -hra0hz *", 11); !ok || !slices.Equal(h.Cancels, []task.Key{7 + 1<<30}) || len(h.Keys) > 0 {
		t.Errorf("parseHint = %+v, %v; want a cancel request", h, ok)
	}
	if h, ok := parseHint("a *", 11); !ok || !h.All {
		t.Errorf("parseHint = %+v, %v", h, ok)
	}
	if h, ok := parseHint("a @inbox", 11); !ok || !h.Data || h.All {
		t.Errorf("parseHint = %+v, %v; want other data alone", h, ok)
	}
}

// hold begins a transaction of a hub with a job, and keeps it open until the returned function is called, which
// waits for its end.
func hold(t *testing.T, db *DB, alone bool, job func(*writer) error) (release func() error) {
	t.Helper()
	held, ended, done := make(chan bool), make(chan bool), make(chan error, 1)
	go func() {
		done <- db.send(context.Background(), alone, func(w *writer) error {
			err := errors.Join(job(w), w.conn.sync())
			close(held)
			<-ended
			return err
		})
	}()
	<-held
	return sync.OnceValue(func() error {
		close(ended)
		return <-done
	})
}

func nothing(*writer) error { return nil }

// A member commits while a transaction of another one is open. The moments of that one get later positions,
// although their row is older: no reader has passed them.
func TestSideBySide(t *testing.T) {
	t.Parallel()
	url := pgtest.Shared(t).Database(t)
	a, b := openTest(t, url, asMember("a")), openTest(t, url, asMember("b"))
	put(t, a, "first")
	other, err := alone(t.Context(), url, false)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = other.close() }()
	var late sqlstore.Moments
	late.AddNotice([]byte("late"))
	add := func() error {
		s := other.start(qAddMoments)
		s.int(late.N)
		s.blob(late.Data)
		return s.done()
	}
	if err := errors.Join(other.run(qBeginNow), add()); err != nil {
		t.Fatal(err)
	}
	release := hold(t, a, false, nothing)
	defer release()
	put(t, b, "second")
	if page, err := b.Tasks().Timeline(t.Context(), 0, 9); err != nil || page.Newest != 2 {
		t.Errorf("Timeline = %+v, %v, want 2 moments", page, err)
	}
	if err := errors.Join(other.run(qCommit), release()); err != nil {
		t.Fatal(err)
	}
	page, err := b.Tasks().Timeline(t.Context(), 2, 9)
	if err != nil || len(page.Moments) != 1 || page.Moments[0].Seq != 3 || string(page.Moments[0].Notice) != "late" {
		t.Errorf("Timeline = %+v, %v, want the third moment", page, err)
	}
}

// Jobs that write after a read run one after the other at all members.
func TestAlone(t *testing.T) {
	t.Parallel()
	url := pgtest.Shared(t).Database(t)
	a, b := openTest(t, url, asMember("a")), openTest(t, url, asMember("b"))
	release := hold(t, a, true, nothing)
	defer release()
	order := make(chan string, 2)
	var wg sync.WaitGroup
	wg.Go(func() {
		if err := b.send(context.Background(), true, nothing); err != nil {
			t.Error(err)
		}
		order <- "b"
	})
	other, err := alone(t.Context(), url, false)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = other.close() }()
	for waits := int64(0); waits == 0 && t.Context().Err() == nil; {
		if waits, err = other.epoch(t.Context(), "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"); err != nil {
			t.Fatal(err)
		}
	}
	order <- "a"
	if err := release(); err != nil {
		t.Error(err)
	}
	wg.Wait()
	if first := <-order; first != "a" {
		t.Errorf("the job of %s has ended first", first)
	}
}

// Two members that change the same tasks in opposite orders both get answers: the database ends one of the
// transactions, which is tried again.
func TestOppositeOrders(t *testing.T) {
	t.Parallel()
	url := pgtest.Shared(t).Database(t)
	hubs := []*DB{openTest(t, url, asMember("a")), openTest(t, url, asMember("b"))}
	notes := []string{"x", "y"}
	both := make(chan bool)
	var wg sync.WaitGroup
	for i, db := range hubs {
		tried := 0
		wg.Go(func() {
			err := db.write(context.Background(), func(w *writer) error {
				tried++
				for n := range notes {
					name := notes[(n+i)%2]
					s := w.conn.start(qCountTopic)
					s.text(name)
					if err := s.done(); err != nil {
						return err
					}
					if err := w.conn.sync(); err != nil {
						return err
					}
					if n == 0 && tried == 1 {
						select {
						case both <- true:
						case <-both:
						}
					}
				}
				return nil
			})
			if err != nil {
				t.Errorf("write at hub %d: %v", i, err)
			}
		})
	}
	wg.Wait()
	if got, err := hubs[0].Topics(t.Context()); err != nil || got["x"] != 2 || got["y"] != 2 {
		t.Errorf("Topics = %v, %v, want 2 of each", got, err)
	}
}

// A request whose change is not stored leaves its key free.
func TestKeyOfARefusedChange(t *testing.T) {
	t.Parallel()
	db := openTest(t, pgtest.Shared(t).Database(t), asMember("a"))
	put(t, db, "one")
	request := &task.Request{Key: "k", Fingerprint: []byte("f"), At: 10, Since: 1}
	again, other := created("one"), created("two")
	again.Request, other.Request = request, request
	if err := db.Tasks().Append(t.Context(), again); !errors.Is(err, task.ErrExists) {
		t.Errorf("Append of a task that exists: %v", err)
	}
	if err := db.Tasks().Append(t.Context(), other); err != nil {
		t.Errorf("Append with the key of a refused request: %v", err)
	}
	if got, err := db.Tasks().Request(t.Context(), "anna", other.Next.Agent, "k"); err != nil || got.Head.ID != "two" {
		t.Errorf("Request = %v, %v, want the task two", got.Head.ID, err)
	}
}

// A sweep leaves a task that another member changes, and its counters stay right.
func TestSweepBesideAChange(t *testing.T) {
	t.Parallel()
	url := pgtest.Shared(t).Database(t)
	a, b := openTest(t, url, asMember("a")), openTest(t, url, asMember("b"))
	for _, id := range []string{"one", "two"} {
		c := created(id)
		c.Next.State, c.Next.StatusAt = task.Completed, 1
		if err := a.Tasks().Append(t.Context(), c); err != nil {
			t.Fatal(err)
		}
	}
	one, err := a.Tasks().Head(t.Context(), "anna", "one")
	if err != nil {
		t.Fatal(err)
	}
	release := hold(t, a, false, func(w *writer) error {
		s := w.conn.bind(qLockTask, int64(one.Key))
		_, err := s.changed()
		return err
	})
	defer release()
	if n, err := b.Tasks().Sweep(t.Context(), 100, 10); n != 1 || err != nil {
		t.Errorf("Sweep = %d, %v, want the task that nobody changes", n, err)
	}
	if err := release(); err != nil {
		t.Fatal(err)
	}
	if n, err := b.Tasks().Sweep(t.Context(), 100, 10); n != 1 || err != nil {
		t.Errorf("Sweep = %d, %v, want the other task", n, err)
	}
	if _, err := Examine(t.Context(), url, func(p string) { t.Errorf("problem: %s", p) }); err != nil {
		t.Error(err)
	}
}

var qLockTask = prepared("SELECT key FROM tasks WHERE key = $1 FOR UPDATE")

// A member that stands still within a transaction loses it after half a lease, so that its membership can
// end; meanwhile others write.
func TestStuckTransaction(t *testing.T) {
	t.Parallel()
	s := pgtest.Shared(t)
	url := s.Database(t)
	b := openTest(t, url, asMember("b")) // changes the schema, without the short lease
	o := asMember("a")
	o.Lease = 4 * time.Second // a busy machine opens the store within half of it
	a := openTest(t, url, o)
	release := hold(t, a, false, nothing)
	defer release()
	put(t, b, "one")
	s.Exec(t, nameOf(url), "UPDATE parley.hubs SET lease_until = lease_until - 120000 WHERE id = 'a'")
	if n, err := b.Lose(t.Context()); n != 1 || err != nil { // waits until the database ends the transaction
		t.Errorf("Lose = %d, %v, want 1", n, err)
	}
	if err := release(); err == nil {
		t.Error("the transaction of the lost hub was committed")
	}
}

// Commits whose moments no reader asks for are numbered after a while.
func TestNumberedWithoutReaders(t *testing.T) {
	t.Parallel()
	db := openTest(t, pgtest.Shared(t).Database(t), Options{KeepMoments: 5})
	f := db.writer.follower
	f.mu.Lock()
	f.moments = numberAfter - 1
	f.mu.Unlock()
	put(t, db, "one")
	for left := int64(1); left > 0 && t.Context().Err() == nil; {
		err := db.read(t.Context(), func(c *conn) (err error) {
			s := c.start(qUnnumbered)
			left, err = s.only()
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

// TestHubsOfTheVersionBefore opens a database of the layout before checksums, whose hubs write in turn. While
// hubs of that version run, it is refused; afterwards it is changed, and its rows without checksums are read.
func TestHubsOfTheVersionBefore(t *testing.T) {
	t.Parallel()
	s := pgtest.Shared(t)
	url := s.Database(t)
	if names, err := Pending(t.Context(), url); err != nil || len(names) < 6 {
		t.Errorf("Pending of an empty database = %q, %v", names, err)
	}
	running, err := Open(t.Context(), url, asMember("a"))
	if err != nil {
		t.Fatal(err)
	}
	put(t, running, "t1")
	s.Exec(t, nameOf(url), `DELETE FROM parley.migrations WHERE step >= 6; UPDATE parley.sequence SET least = 1;
		ALTER TABLE parley.sequence ADD next_key BIGINT NOT NULL DEFAULT 4097, ADD writer BIGINT NOT NULL DEFAULT 0,
		ADD members BIGINT NOT NULL DEFAULT 0; DROP SEQUENCE parley.task_keys; DROP TABLE parley.moments, parley.task_words, parley.text_index,
		parley.shard, parley.shards, parley.shard_owners, parley.shard_timeline, parley.shard_moves, parley.shard_holds,
		parley.shard_moving, parley.shard_changes; DROP FUNCTION parley.shard_task_changed, parley.shard_beside_changed,
		parley.shard_sidecar_changed CASCADE; ALTER TABLE parley.timeline DROP at;
		ALTER TABLE parley.hubs DROP slot, DROP view; ALTER TABLE parley.counters DROP slot, ADD PRIMARY KEY (scope, state);
		ALTER TABLE parley.hooks RENAME COLUMN delivered TO told;
		UPDATE parley.entries SET data = substr(data, 6); UPDATE parley.tasks SET rest = substr(rest, 6)`)
	if db, err := Open(t.Context(), url, asMember("b")); !errors.Is(err, ErrInUse) || !strings.Contains(err.Error(), "1 hubs of an earlier version") {
		t.Errorf("Open = %v, want ErrInUse that names the hubs", err)
		if err == nil {
			_ = db.Close()
		}
	}
	if _, err := Pending(t.Context(), url); !errors.Is(err, ErrInUse) {
		t.Errorf("Pending = %v, want ErrInUse", err)
	}
	if err := running.Close(); err != nil {
		t.Fatal(err)
	}
	if names, err := Pending(t.Context(), url); err != nil || len(names) == 0 || !strings.HasPrefix(names[0], "0006_") {
		t.Errorf("Pending = %q, %v, want the sixth migration and later ones", names, err)
	}
	db := openTest(t, url, asMember("b"))
	if names, err := Pending(t.Context(), url); err != nil || names != nil {
		t.Errorf("Pending = %q, %v after Open", names, err)
	}
	mustFind(t, db, "t1")
	put(t, db, "t2")
	mustFind(t, db, "t2")
	n, err := Examine(t.Context(), url, func(p string) { t.Errorf("problem: %s", p) })
	if err != nil || n.Tasks != 2 {
		t.Errorf("Examine = %+v, %v", n, err)
	}
}
