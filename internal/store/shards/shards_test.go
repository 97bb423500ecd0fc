package shards

import (
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/internal/cluster"
	"github.com/parley-a2a/parley/internal/task"
	"github.com/parley-a2a/parley/internal/testing/pgtest"
	"github.com/parley-a2a/parley/internal/testing/suite/tasktest"
	"github.com/parley-a2a/parley/store/pgstore"
)

// patience is the time limit for what other goroutines do.
const patience = time.Minute

// add stores a task of each of n owners, with the id of the owner.
func add(t *testing.T, s task.Store, from, n int) (heads []task.Head) {
	t.Helper()
	for i := from; i < from+n; i++ {
		id := fmt.Sprint("owner", i)
		heads = append(heads, tasktest.Append(t, s, tasktest.NewHead(task.Owner(id), a2a.TaskID(id)), tasktest.Created(tasktest.At(int64(i)), "hello")))
	}
	return heads
}

// counts returns the number of owners of each shard.
func counts(t *testing.T, home string) (n []int) {
	t.Helper()
	all, err := pgstore.Shards(t.Context(), home)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range all {
		n = append(n, s.Owners)
	}
	return n
}

// A database with tasks becomes a home and keeps its owners, with their keys. Another database gets a share of
// the new owners alone.
func TestAdd(t *testing.T) {
	t.Parallel()
	server := pgtest.Shared(t)
	home, second, third := server.Database(t), server.Database(t), server.Database(t)
	single, err := pgstore.Open(t.Context(), home, options("a", home).Each)
	if err != nil {
		t.Fatal(err)
	}
	had := add(t, single.Tasks(), 0, 20)
	if err := single.Close(); err != nil {
		t.Fatal(err)
	}
	use := func(want []int, from, n int, others ...string) {
		t.Helper()
		db, err := Open(t.Context(), options("a", home, others...))
		if err != nil {
			t.Fatal(err)
		}
		for i := range had {
			got, err := db.Tasks().Head(t.Context(), had[i].Owner, had[i].ID)
			if err != nil || got.Key != had[i].Key {
				t.Errorf("task %s has the key %d, %v, want %d", had[i].ID, got.Key, err, had[i].Key)
			}
		}
		had = append(had, add(t, db.Tasks(), from, n)...)
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
		got := counts(t, home)
		if len(got) != len(want) {
			t.Fatalf("owners of the shards = %v, want at least %v", got, want)
		}
		for i := range want {
			if got[i] < want[i] {
				t.Errorf("owners of the shards = %v, want at least %v", got, want)
			}
		}
	}
	use([]int{20}, 0, 0)
	use([]int{35, 15}, 20, 60, second)
	before := counts(t, home)
	use([]int{before[0], before[1], 0}, 80, 0, third, second)
	if after := counts(t, home); !slices.Equal(after[:2], before) {
		t.Errorf("another database has moved owners: %v, then %v", before, after)
	}
	use([]int{before[0] + 10, before[1] + 10, 10}, 80, 90, second, third)

	_, err = Open(t.Context(), options("a", home, third))
	if !errors.Is(err, ErrRemoved) || !strings.Contains(err.Error(), "shard 1") {
		t.Errorf("Open without shard 1 = %v, want ErrRemoved", err)
	}
}

// Databases that cannot form a log are refused, and not changed.
func TestRefused(t *testing.T) {
	t.Parallel()
	server := pgtest.Shared(t)
	home, second, other, fresh := server.Database(t), server.Database(t), server.Database(t), server.Database(t)
	for _, o := range []Options{options("a", home, second), options("a", other)} {
		db, err := Open(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		add(t, db.Tasks(), 0, 1)
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
	}
	used := server.Database(t)
	alone, err := pgstore.Open(t.Context(), used, options("other", used).Each)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = alone.Close() }()
	elsewhere := options("a", used)
	elsewhere.Each.Member.Config = "another"
	full := server.Database(t)
	single, err := pgstore.Open(t.Context(), full, options("a", full).Each)
	if err != nil {
		t.Fatal(err)
	}
	add(t, single.Tasks(), 0, 1)
	if err := single.Close(); err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct {
		o    Options
		want string
	}{
		"the home of another log":   {options("a", home, second, other), "belongs to the log of another home"},
		"a shard as home":           {options("a", second, home), "the home is shard 1"},
		"a new home":                {options("a", fresh, home), "belongs to the log of another home"},
		"beside a hub without it":   {elsewhere, "1 hubs with another configuration use it"},
		"twice":                     {options("a", home, second, second), "lists one twice"},
		"twice in other words":      {options("a", home, second, second+"&application_name=x"), "twice"},
		"the home as another":       {options("a", home, home), "lists one twice"},
		"a database with tasks":     {options("a", home, second, full), "has tasks"},
		"no database at an address": {options("a", home, "postgres://127.0.0.1:1/x"), "127.0.0.1"},
	} {
		db, err := Open(t.Context(), tt.o)
		if err == nil {
			_ = db.Close()
		}
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: Open = %v, want %q", name, err, tt.want)
		}
	}
	for _, address := range []string{fresh, full, used} {
		if at, err := pgstore.ShardAt(t.Context(), address); err != nil || at != (pgstore.Shard{}) {
			t.Errorf("the refused database is shard %+v, %v", at, err)
		}
	}
}

// owned returns an owner without tasks whose place is the shard.
func owned(db *DB, number int) task.Owner {
	for i := 0; ; i++ {
		owner := task.Owner(fmt.Sprint("new", i))
		if score(number, owner) > score(1-number, owner) {
			return owner
		}
	}
}

// lines are those of a log.
type lines chan string

func (l lines) Write(p []byte) (int, error) {
	l <- string(p)
	return len(p), nil
}

// await waits for a line with a text.
func (l lines) await(t *testing.T, text string) {
	t.Helper()
	limit := time.After(patience)
	for {
		select {
		case line := <-l:
			if strings.Contains(line, text) {
				return
			}
		case <-limit:
			t.Fatalf("the log has no line with %q", text)
		}
	}
}

// While a database is away, requests of its owners fail with ErrPartly without waiting, and all others are served,
// including new ones. Lists of all owners have the tasks of the others. When it is back, nothing is missing.
func TestAway(t *testing.T) {
	t.Parallel()
	far := pgtest.Start(t)
	o := options("a", pgtest.Shared(t).Database(t), far.Database(t))
	log := make(lines, 16)
	o.Logger = slog.New(slog.NewTextHandler(log, nil))
	db := openTest(t, o)
	s, ctx := db.Tasks(), t.Context()
	here, there := owned(db, 0), owned(db, 1)
	near := tasktest.Append(t, s, tasktest.NewHead(here, "near"), tasktest.Created(tasktest.At(0), "hello"))
	gone := tasktest.Append(t, s, tasktest.NewHead(there, "gone"), tasktest.Created(tasktest.At(1), "hello"))
	if near.Key == gone.Key {
		t.Fatalf("tasks in two shards have the key %d", near.Key)
	}
	far.Stop()
	if _, err := s.Head(ctx, there, "gone"); !errors.Is(err, task.ErrPartly) {
		t.Fatalf("Head of the database that is away = %v, want ErrPartly", err)
	}
	log.await(t, "a database does not answer")
	if names, all := db.Away(); len(names) != 1 || all != 2 {
		t.Errorf("Away = %v of %d", names, all)
	}
	near = tasktest.Append(t, s, near, tasktest.Status(tasktest.At(2), task.Working, ""))
	fresh := task.Owner("")
	for i := 0; fresh == ""; i++ {
		if owner := task.Owner(fmt.Sprint("fresh", i)); score(1, owner) > score(0, owner) {
			fresh = owner
		}
	}
	moved := tasktest.Append(t, s, tasktest.NewHead(fresh, "moved"), tasktest.Created(tasktest.At(3), "hello"))
	page, err := s.List(ctx, &task.Query{AllOwners: true, Limit: 10})
	if err != nil || len(page.Heads) != 2 || page.Heads[0].Key != moved.Key || page.Heads[1].Key != near.Key {
		t.Errorf("list of all owners = %+v, %v", page, err)
	}
	if err := s.Append(ctx, tasktest.Step(t, gone, tasktest.Status(tasktest.At(4), task.Working, ""))); !errors.Is(err, task.ErrPartly) {
		t.Errorf("Append = %v, want ErrPartly", err)
	}
	if _, err := s.Find(ctx, "gone"); !errors.Is(err, task.ErrPartly) {
		t.Errorf("Find = %v, want ErrPartly", err)
	}
	if found, err := s.Timeline(ctx, 0, 10); err == nil && len(found.Moments) > 3 {
		t.Errorf("timeline = %+v", found)
	}
	far.Launch(t)
	log.await(t, "the database answers again")
	tasktest.Append(t, s, gone, tasktest.Status(tasktest.At(5), task.Working, ""))
	found, err := s.Timeline(ctx, 0, 10)
	if err != nil || len(found.Moments) != 5 {
		t.Errorf("timeline = %+v, %v, want 5 moments", found, err)
	}
}

// A hub that the home has ended is ended in the other shards too, and cannot write there.
func TestFence(t *testing.T) {
	t.Parallel()
	server := pgtest.Shared(t)
	home, second := server.Database(t), server.Database(t)
	a, b := openTest(t, options("a", home, second)), openTest(t, options("b", home, second))
	there := owned(a, 1)
	h := tasktest.Append(t, b.Tasks(), tasktest.NewHead(there, "t"), tasktest.Created(tasktest.At(0), "hello"))
	// Its lease ends while it stands still; the keepers of this test are the calls below.
	if _, err := b.Home().Renew(t.Context(), cluster.Renewal{Lease: time.Millisecond}); err != nil {
		t.Fatal(err)
	}
	for deadline, lost := time.Now().Add(patience), 0; lost == 0; {
		if _, err := a.Renew(t.Context(), cluster.Renewal{Lease: time.Minute}); err != nil {
			t.Fatal(err)
		}
		var err error
		if lost, err = a.Lose(t.Context()); err != nil || time.Now().After(deadline) {
			t.Fatalf("Lose = %d, %v", lost, err)
		}
	}
	change := tasktest.Step(t, h, tasktest.Status(tasktest.At(1), task.Working, ""))
	if err := b.Tasks().Append(t.Context(), change); !errors.Is(err, cluster.ErrLost) {
		t.Errorf("Append of the lost hub = %v, want ErrLost", err)
	}
	if err := b.Rejoin(t.Context(), cluster.NewHolder()); err != nil {
		t.Fatal(err)
	}
	tasktest.Append(t, b.Tasks(), h, tasktest.Status(tasktest.At(2), task.Working, ""))
}

// A reader whose position a shard does not keep any more learns of the gap, and misses nothing after it.
func TestGap(t *testing.T) {
	t.Parallel()
	server := pgtest.Shared(t)
	o := options("a", server.Database(t), server.Database(t))
	o.Each.KeepMoments = 4
	db := openTest(t, o)
	s := db.Tasks()
	h := tasktest.Append(t, s, tasktest.NewHead(owned(db, 1), "t"), tasktest.Created(tasktest.At(0), "hello"))
	for i := range 20 { // the shard forgets the first ones before they are merged
		h = tasktest.Append(t, s, h, tasktest.Chunk(tasktest.At(int64(i)), "a", "x"))
	}
	if _, err := db.shard(1).tasks.Timeline(t.Context(), 0, 1); err != nil {
		t.Fatal(err)
	}
	page, err := s.Timeline(t.Context(), 0, 100)
	if err != nil || page.Newest != 21 || page.Oldest <= 1 || len(page.Moments) != int(page.Newest-page.Oldest)+1 || page.Moments[0].Seq != page.Oldest {
		t.Fatalf("timeline = %+v, %v, want the kept moments up to 21", page, err)
	}
	if last := page.Moments[len(page.Moments)-1]; last.Last != h.Version || last.Key != h.Key {
		t.Errorf("last moment = %+v, want version %d of task %d", last, h.Version, h.Key)
	}
}
