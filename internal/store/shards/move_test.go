package shards

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/parley-a2a/parley/internal/blobstore"
	"github.com/parley-a2a/parley/internal/cluster"
	"github.com/parley-a2a/parley/internal/task"
	"github.com/parley-a2a/parley/internal/testing/pgtest"
	"github.com/parley-a2a/parley/internal/testing/suite/tasktest"
	"github.com/parley-a2a/parley/internal/testing/testenv"
	"github.com/parley-a2a/parley/internal/wake"
	"github.com/parley-a2a/parley/store/pgstore"
)

// lease is that of hubs in tests with keepers.
const lease = 3 * time.Second

// member opens a hub that keeps its membership, and gets the hints of others, until the test ends.
func member(t *testing.T, o Options) *DB {
	t.Helper()
	o.Each.Lease = lease
	db, err := Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var work sync.WaitGroup
	keepUp(ctx, &work, db)
	t.Cleanup(func() {
		cancel()
		work.Wait()
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	return db
}

// keepUp keeps the membership of a hub, until ctx ends.
func keepUp(ctx context.Context, work *sync.WaitGroup, db *DB) {
	work.Go(func() { _ = db.Listen(ctx, func(cluster.Hint) {}) })
	work.Go(func() {
		for tick := time.NewTicker(lease / 6); ; {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
			if _, err := db.Renew(ctx, cluster.Renewal{Lease: lease}); errors.Is(err, cluster.ErrLost) {
				_ = db.Rejoin(ctx, cluster.NewHolder())
			}
			_, _ = db.Lose(ctx)
		}
	})
}

// load is a busy owner: callers write to their tasks through several hubs, while others read them.
type load struct {
	t     *testing.T
	owner task.Owner
	hubs  []*DB
	stop  chan struct{}
	work  sync.WaitGroup

	mu      sync.Mutex // guards the fields below
	heads   map[task.Key]task.Head
	longest time.Duration
	writes  int
}

func startLoad(t *testing.T, owner task.Owner, callers int, hubs ...*DB) *load {
	l := &load{t: t, owner: owner, hubs: hubs, stop: make(chan struct{}), heads: make(map[task.Key]task.Head)}
	for caller := range callers {
		l.work.Go(func() {
			next := time.NewTicker(time.Duration(callers) * 20 * time.Millisecond) // many callers leave time for moves
			defer next.Stop()
			for n := 0; ; n++ {
				select {
				case <-l.stop:
					return
				case <-next.C:
				}
				if err := l.task(fmt.Sprintf("%s-%d-%d", owner, caller, n), caller+n); err != nil {
					t.Errorf("caller %d: %v", caller, err)
					return
				}
			}
		})
	}
	return l
}

// append stores a change through one of the hubs, and measures how long that takes.
func (l *load) append(c *task.Change, hub int) error {
	began := time.Now()
	err := l.hubs[hub%len(l.hubs)].Tasks().Append(l.t.Context(), c)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.longest = max(l.longest, time.Since(began))
	l.writes++
	return err
}

const chunks = 8

// task runs a task to its end, with a webhook, records and a stream.
func (l *load) task(id string, hub int) error {
	t := l.t
	create := tasktest.Step(t, tasktest.NewHead(l.owner, a2a.TaskID(id)), tasktest.Created(tasktest.At(0), "hello"))
	create.Hook = tasktest.NewHook(0, "hook")
	create.Request = &task.Request{Key: id, Fingerprint: []byte("f"), At: tasktest.At(0)}
	create.Alias = "alias-" + id
	if err := l.append(create, hub); err != nil {
		return err
	}
	h := create.Next
	var stream sync.WaitGroup
	defer stream.Wait()
	more := wake.New()
	defer close(more)
	key := h.Key
	stream.Go(func() { l.stream(key, hub+1, more) })
	for i := range chunks {
		c := tasktest.Step(t, h, tasktest.Chunk(tasktest.At(int64(i)), "a", "x"))
		if i == 0 {
			c = tasktest.Step(t, h, tasktest.Status(tasktest.At(0), task.Working, ""))
		}
		c.Journal = []task.Record{{Number: int64(i + 1), Data: []byte{byte(i)}}}
		if err := l.append(c, hub+i); err != nil {
			return err
		}
		h = c.Next
		more.Send()
		step := task.HookStep{HookRef: task.HookRef{Task: h.Key, ID: "hook"}, Position: h.Version}
		if err := l.hubs[(hub+i)%len(l.hubs)].Tasks().Advance(t.Context(), []task.HookStep{step}); err != nil {
			return err
		}
		got, err := l.hubs[(hub+i+1)%len(l.hubs)].Tasks().Head(t.Context(), l.owner, h.ID)
		if err != nil || got.Rev != h.Rev {
			return fmt.Errorf("head after rev %d of %s has rev %d, %w", h.Rev, id, got.Rev, err)
		}
		hooks, err := l.hubs[(hub+i+1)%len(l.hubs)].Tasks().Hooks(t.Context(), h.Key, "", 10)
		if err != nil || len(hooks) != 1 || hooks[0].Position != h.Version {
			return fmt.Errorf("webhook at version %d = %+v, %w", h.Version, hooks, err)
		}
	}
	c := tasktest.Step(t, h, tasktest.Status(tasktest.At(99), task.Completed, ""))
	if err := l.append(c, hub); err != nil {
		return err
	}
	l.mu.Lock()
	l.heads[c.Next.Key] = c.Next
	l.mu.Unlock()
	return nil
}

// stream reads the entries of a task after each signal of more, until it is closed: each version once.
func (l *load) stream(key task.Key, hub int, more wake.Signal) {
	after := int64(0)
	for open := true; open; {
		_, open = <-more
		page, err := l.hubs[hub%len(l.hubs)].Tasks().Read(l.t.Context(), key, after)
		if err != nil {
			l.t.Errorf("stream of task %d after %d: %v", key, after, err)
			return
		}
		for i := range page {
			if after++; page[i].Version != after {
				l.t.Errorf("stream of task %d: version %d instead of %d", key, page[i].Version, after)
				return
			}
		}
	}
	if after != chunks+2 {
		l.t.Errorf("stream of task %d: %d of %d versions", key, after, chunks+2)
	}
}

func (l *load) end() {
	close(l.stop)
	l.work.Wait()
}

// check compares all that is stored about the ended tasks with the acknowledged changes.
func (l *load) check(hub *DB) {
	t, s := l.t, hub.Tasks()
	t.Helper()
	for key, h := range l.heads {
		got, err := s.Head(t.Context(), l.owner, h.ID)
		if err != nil || got.Rev != h.Rev || got.Key != key {
			t.Fatalf("head of %s = %d rev %d, %v, want %d rev %d", h.ID, got.Key, got.Rev, err, key, h.Rev)
		}
		entries, err := s.Read(t.Context(), key, 0)
		if err != nil || len(entries) != int(h.Version) {
			t.Fatalf("%s has %d entries, %v, want %d", h.ID, len(entries), err, h.Version)
		}
		records, err := s.Journal(t.Context(), key, 0)
		if err != nil || len(records) != chunks {
			t.Fatalf("%s has %d records, %v, want %d", h.ID, len(records), err, chunks)
		}
		if r, err := s.Request(t.Context(), l.owner, h.Agent, string(h.ID)); err != nil || r.Head.Key != key {
			t.Fatalf("request %s = %d, %v, want %d", h.ID, r.Head.Key, err, key)
		}
		if a, err := s.ByAlias(t.Context(), l.owner, h.Agent, "alias-"+string(h.ID)); err != nil || a.Key != key {
			t.Fatalf("alias of %s = %d, %v, want %d", h.ID, a.Key, err, key)
		}
		hooks, err := s.Hooks(t.Context(), key, "", 10)
		if err != nil || len(hooks) != 1 || hooks[0].Position != h.Version-1 {
			t.Fatalf("webhooks of %s = %+v, %v, want one at %d", h.ID, hooks, err, h.Version-1)
		}
	}
	page, err := s.List(t.Context(), &task.Query{Owner: l.owner, State: task.Completed, Limit: 1})
	if err != nil || page.Total != len(l.heads) {
		t.Errorf("%d completed tasks in the list, %v, want %d", page.Total, err, len(l.heads))
	}
	all, err := s.List(t.Context(), &task.Query{AllOwners: true, State: task.Completed, Limit: 100})
	seen := make(map[task.Key]bool)
	for i := range all.Heads {
		if seen[all.Heads[i].Key] {
			t.Errorf("task %d is listed twice", all.Heads[i].Key)
		}
		seen[all.Heads[i].Key] = true
	}
	if err != nil {
		t.Error(err)
	}
	next := make(map[task.Key]int64)
	for after := int64(0); ; {
		page, err := s.Timeline(t.Context(), after, 500)
		if err != nil {
			t.Fatal(err)
		}
		if len(page.Moments) == 0 {
			break
		}
		for _, m := range page.Moments {
			if m.Seq != after+1 {
				t.Fatalf("timeline: position %d follows %d", m.Seq, after)
			}
			after = m.Seq
			want, ours := l.heads[m.Key]
			if !ours {
				continue
			}
			if m.First != next[m.Key]+1 {
				t.Fatalf("timeline: version %d of task %d follows %d", m.First, m.Key, next[m.Key])
			}
			next[m.Key] = m.Last
			if m.Head.Rev != want.Rev {
				t.Fatalf("timeline: task %d has rev %d, want %d", m.Key, m.Head.Rev, want.Rev)
			}
		}
	}
	for key, h := range l.heads {
		if next[key] != h.Version {
			t.Fatalf("timeline: task %d ends at version %d, want %d", key, next[key], h.Version)
		}
	}
}

// empty checks that a database has nothing of an owner's tasks.
func empty(t *testing.T, address string, owner task.Owner) {
	t.Helper()
	c, err := pgconn.Connect(t.Context(), address)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close(context.Background()) }()
	number := fmt.Sprintf("(SELECT id FROM parley.owners WHERE name = '%s')", owner)
	scopes := "(SELECT id FROM parley.scopes WHERE owner = " + number + ")"
	orphan := "NOT EXISTS (SELECT FROM parley.tasks WHERE key = "
	for table, where := range map[string]string{
		"tasks": "owner = " + number, "messages": "owner = " + number, "shard_moving": "owner = " + number, "shard_changes": "owner = " + number,
		"requests": "scope IN " + scopes, "counters": "scope IN " + scopes, "part_refs": "owner = '" + string(owner) + "'",
		"entries": orphan + "place >> 24)", "journal": orphan + "place >> 24)", "hooks": orphan + "task)", "task_words": orphan + "task)",
		"part_chunks": "NOT EXISTS (SELECT FROM parley.part_contents WHERE id = content)",
	} {
		got := c.ExecParams(t.Context(), "SELECT count(*) FROM parley."+table+" WHERE "+where, nil, nil, nil, nil).Read()
		if got.Err != nil || string(got.Rows[0][0]) != "0" {
			t.Errorf("the former database of %s has %s rows in %s: %v", owner, got.Rows, table, got.Err)
		}
	}
	got := c.ExecParams(t.Context(), "SELECT count(*) FROM pg_trigger WHERE tgname = 'shard_moving' AND tgenabled <> 'D'", nil, nil, nil, nil).Read()
	if got.Err != nil || string(got.Rows[0][0]) != "0" {
		t.Errorf("triggers are enabled: %s, %v", got.Rows, got.Err)
	}
}

// An owner that works moves ten times: no request fails, and nothing is missing or repeated. PARLEY_MOVE_SENDERS is
// the number of its senders.
func TestMove(t *testing.T) {
	t.Parallel()
	senders := cmp.Or(number(os.Getenv("PARLEY_MOVE_SENDERS")), 6)
	near, far := pgtest.Shared(t).Database(t), pgtest.Start(t).Database(t)
	first, second := options("a", near, far), options("b", near, far)
	first.Each.KeepMoments, second.Each.KeepMoments = 1<<21, 1<<21 // the timeline is compared from its beginning
	a, b := member(t, first), member(t, second)
	owner, other := owned(a, 0), owned(a, 1)
	if _, err := a.Parts(time.Hour).Put(blobstore.Key{Owner: owner, Task: "t"}, blobstore.Part{}, bytesOf(1<<20)); err != nil {
		t.Fatal(err)
	}
	busy, beside := startLoad(t, owner, senders, a, b), startLoad(t, other, 2, a, b)
	for i := range 10 {
		to := (i + 1) % 2
		began := time.Now()
		if err := []*DB{a, b}[i/2%2].Move(t.Context(), owner, to); err != nil {
			t.Errorf("move %d: %v", i, err)
		}
		t.Logf("move %d took %v", i, time.Since(began).Round(time.Millisecond))
	}
	busy.end()
	beside.end()
	t.Logf("%d writes of the owner by %d senders, the longest took %v; %d of another, %v", busy.writes, senders, busy.longest, beside.writes, beside.longest)
	busy.check(a)
	busy.check(b)
	beside.check(b)
	empty(t, far, owner)
	if n, err := a.Parts(time.Hour).Link(blobstore.Key{Owner: owner, Task: "u"}, "t", partOf(t, 1<<20)); err != nil || n.Size != 1<<20 {
		t.Errorf("the part of the owner = %+v, %v", n, err)
	}
}

// The points of a move at which the hub that carries it out is killed.
var points = []string{"begun", "watched", "copied", "held", "halted", "finished", "switched", "removed"}

// A move whose hub is killed leaves the owner in one of the two shards, and the others tidy up.
func TestMoveKilled(t *testing.T) {
	t.Parallel()
	testenv.Long(t, "killing a hub at each point of a move")
	near, far := pgtest.Shared(t).Database(t), pgtest.Start(t).Database(t)
	a, b := member(t, options("a", near, far)), member(t, options("b", near, far))
	owner := owned(a, 0)
	busy := startLoad(t, owner, 3, a, b)
	for _, point := range points {
		at, _, err := a.Home().ShardOf(t.Context(), owner)
		if err != nil {
			t.Fatal(err)
		}
		cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^$")
		cmd.Env = append(os.Environ(), "PARLEY_MOVER="+point, "PARLEY_HOME="+near, "PARLEY_OTHER="+far, "PARLEY_OWNER="+string(owner), fmt.Sprint("PARLEY_TO=", 1-at))
		out, err := cmd.CombinedOutput()
		if failed := new(exec.ExitError); !errors.As(err, &failed) || failed.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
			t.Fatalf("%s: the mover was not killed: %v\n%s", point, err, out)
		}
		for deadline := time.Now().Add(patience); ; {
			moves, err := a.Home().Moves(t.Context())
			if err == nil && len(moves) == 0 {
				break
			}
			if time.Now().After(deadline) {
				t.Fatalf("%s: left moves %+v, %v", point, moves, err)
			}
			select {
			case <-time.After(50 * time.Millisecond):
			case <-t.Context().Done():
			}
		}
		now, _, err := a.Home().ShardOf(t.Context(), owner)
		if err != nil {
			t.Fatal(err)
		}
		if late := slices.Index(points, point) >= slices.Index(points, "switched"); late != (now != at) {
			t.Errorf("%s: the owner is in shard %d, and was in %d", point, now, at)
		}
		empty(t, []string{near, far}[1-now], owner)
	}
	busy.end()
	t.Logf("%d writes, the longest took %v", busy.writes, busy.longest)
	busy.check(a)
	busy.check(b)
}

// number returns the number that s is, or 0.
func number(s string) int {
	n, _ := strconv.Atoi(s)
	return n
}

// mover is a process that is killed at a point of a move.
func mover(point string) int {
	o := options("mover", os.Getenv("PARLEY_HOME"), os.Getenv("PARLEY_OTHER"))
	o.Each.Lease = lease
	db, err := Open(context.Background(), o)
	if err != nil {
		fmt.Println(err)
		return 1
	}
	keepUp(context.Background(), new(sync.WaitGroup), db)
	db.reached = func(at string) {
		if at == point {
			_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		}
	}
	fmt.Println(db.Move(context.Background(), task.Owner(os.Getenv("PARLEY_OWNER")), number(os.Getenv("PARLEY_TO"))))
	return 1
}

// The first task of an owner, who had only a part, comes during a move.
func TestMoveBeforeTheFirstTask(t *testing.T) {
	t.Parallel()
	server := pgtest.Shared(t)
	near, far := server.Database(t), server.Database(t)
	a := member(t, options("a", near, far))
	owner := owned(a, 0)
	if _, err := a.Parts(time.Hour).Put(blobstore.Key{Owner: owner, Task: "t"}, blobstore.Part{}, bytesOf(1<<10)); err != nil {
		t.Fatal(err)
	}
	var h task.Head
	a.reached = func(at string) {
		if at == "watched" {
			h = tasktest.Append(t, a.Tasks(), tasktest.NewHead(owner, "t"), tasktest.Created(tasktest.At(0), "hello"))
		}
	}
	if err := a.Move(t.Context(), owner, 1); err != nil {
		t.Fatal(err)
	}
	if page, err := a.Tasks().Read(t.Context(), h.Key, 0); err != nil || len(page) != 1 {
		t.Errorf("the first task after the move: %d entries, %v", len(page), err)
	}
	tasktest.Append(t, a.Tasks(), h, tasktest.Status(tasktest.At(1), task.Working, ""))
}

// A hub that does not know of a move prevents it while the hub is a member. Once it is lost, the owner moves, and
// the hub cannot write in the former place. After it has joined again, it finds the owner.
func TestMoveUnheard(t *testing.T) {
	t.Parallel()
	server := pgtest.Shared(t)
	near, far := server.Database(t), server.Database(t)
	a := member(t, options("a", near, far))
	o := options("b", near, far)
	o.Each.Lease = time.Hour
	b := openTest(t, o) // without the keeper that receives hints
	owner := owned(a, 0)
	h := tasktest.Append(t, b.Tasks(), tasktest.NewHead(owner, "t"), tasktest.Created(tasktest.At(0), "hello"))
	if err := a.Move(t.Context(), owner, 1); !errors.Is(err, ErrBusy) {
		t.Fatalf("Move beside a hub that does not answer = %v, want ErrBusy", err)
	}
	h = tasktest.Append(t, b.Tasks(), h, tasktest.Status(tasktest.At(1), task.Working, ""))
	begun, write, wrote := make(chan bool), make(chan bool), make(chan error)
	go func() { // an operation that stands still, as with its hub
		wrote <- b.at(context.WithoutCancel(t.Context()), owner, b.owners.find, func(s *shard) error {
			close(begun)
			<-write
			return s.tasks.Append(context.WithoutCancel(t.Context()), tasktest.Step(t, tasktest.NewHead(owner, "v"), tasktest.Created(tasktest.At(0), "hello")))
		})
	}()
	<-begun
	if _, err := b.Home().Renew(t.Context(), cluster.Renewal{Lease: time.Millisecond}); err != nil {
		t.Fatal(err)
	}
	for limit := time.Now().Add(patience); ; {
		if all, err := a.Home().Members(t.Context()); err == nil && len(all) == 1 {
			break
		} else if time.Now().After(limit) {
			t.Fatalf("members = %+v, %v", all, err)
		}
	}
	if err := a.Move(t.Context(), owner, 1); err != nil {
		t.Fatal(err)
	}
	change := tasktest.Step(t, h, tasktest.Chunk(tasktest.At(2), "a", "x"))
	if err := b.Tasks().Append(t.Context(), change); err == nil {
		t.Error("a hub that has not heard of the move wrote in the former place")
	}
	created := tasktest.Step(t, tasktest.NewHead(owner, "u"), tasktest.Created(tasktest.At(0), "hello"))
	if err := b.Tasks().Append(t.Context(), created); err == nil {
		t.Error("a hub that has not heard of the move created a task in the former place")
	}
	joined := make(chan error, 1)
	go func() { joined <- b.Rejoin(t.Context(), cluster.NewHolder()) }()
	for len(joined) == 0 && b.owners.tryEnter(nil) == nil { // until operations wait for it
		runtime.Gosched()
	}
	close(write)
	if err := <-wrote; err == nil {
		t.Error("an operation from before the loss wrote in the former place")
	}
	if err := <-joined; err != nil {
		t.Fatal(err)
	}
	h = tasktest.Append(t, b.Tasks(), h, tasktest.Chunk(tasktest.At(2), "a", "x"))
	if got, err := a.Tasks().Head(t.Context(), owner, "t"); err != nil || got.Rev != h.Rev {
		t.Errorf("head = rev %d, %v, want %d", got.Rev, err, h.Rev)
	}
}

// Moves that cannot be are refused with the reason.
func TestMoveRefused(t *testing.T) {
	t.Parallel()
	far := pgtest.Start(t)
	o := options("a", pgtest.Shared(t).Database(t), far.Database(t))
	log := make(lines, 64)
	o.Logger = newLogger(log)
	db := member(t, o)
	owner := owned(db, 0)
	tasktest.Append(t, db.Tasks(), tasktest.NewHead(owner, "t"), tasktest.Created(tasktest.At(0), "hello"))
	refused := func(owner task.Owner, to int, want error) {
		t.Helper()
		if err := db.Move(t.Context(), owner, to); !errors.Is(err, want) {
			t.Errorf("Move(%s, %d) = %v, want %v", owner, to, err, want)
		}
	}
	refused("nobody", 1, pgstore.ErrNoOwner)
	refused(owner, 7, pgstore.ErrNoShard)
	refused(owner, 0, pgstore.ErrThere)
	if err := pgstore.DrainShard(t.Context(), o.Home, 1, true); err != nil {
		t.Fatal(err)
	}
	if err := db.sync(t.Context()); err != nil {
		t.Fatal(err)
	}
	refused(owner, 1, pgstore.ErrDrained)
	far.Stop()
	_, _ = db.shard(1).tasks.Head(t.Context(), owner, "t")
	db.shard(1).failed.Send()
	log.await(t, "a database does not answer")
	refused(owner, 1, task.ErrPartly)
}

// Owners move on orders, and a drained shard gets no new ones.
func TestOrders(t *testing.T) {
	t.Parallel()
	server := pgtest.Shared(t)
	o := options("a", server.Database(t), server.Database(t))
	db := member(t, o)
	member(t, options("b", o.Home, o.Others...))
	add(t, db.Tasks(), 0, 8)
	if err := pgstore.DrainShard(t.Context(), o.Home, 1, true); err != nil {
		t.Fatal(err)
	}
	all, err := pgstore.OwnersIn(t.Context(), o.Home, 1, 100)
	if err != nil || len(all) != counts(t, o.Home)[1] {
		t.Fatalf("OwnersIn = %v, %v", all, err)
	}
	for _, owner := range all {
		if err := pgstore.OrderMove(t.Context(), o.Home, owner, pgstore.AnyShard); err != nil {
			t.Fatal(err)
		}
		if place, err := ended(t, o.Home, owner); err != nil || place != 0 {
			t.Errorf("owner %s is in shard %d, %v", owner, place, err)
		}
	}
	add(t, db.Tasks(), 8, 8)
	if got := counts(t, o.Home); got[0] != 16 || got[1] != 0 {
		t.Errorf("owners of the shards = %v, want 16 and 0", got)
	}
	page, err := db.Tasks().List(t.Context(), &task.Query{AllOwners: true, Limit: 100})
	if err != nil || len(page.Heads) != 16 {
		t.Errorf("%d tasks are listed, %v, want 16", len(page.Heads), err)
	}
	for to, want := range map[int]error{0: pgstore.ErrThere, 1: pgstore.ErrDrained, 7: pgstore.ErrNoShard} {
		if err := pgstore.OrderMove(t.Context(), o.Home, "owner1", to); !errors.Is(err, want) {
			t.Errorf("OrderMove to shard %d = %v, want %v", to, err, want)
		}
	}
	if err := pgstore.OrderMove(t.Context(), o.Home, "owner1", pgstore.AnyShard); err != nil {
		t.Fatal(err)
	}
	if _, err := ended(t, o.Home, "owner1"); !errors.Is(err, pgstore.ErrMove) {
		t.Errorf("a move without another shard = %v, want ErrMove", err)
	}
}

// ended waits for the end of an order.
func ended(t *testing.T, home string, owner task.Owner) (int, error) {
	for limit := time.Now().Add(patience); ; {
		place, ended, err := pgstore.OrderEnded(t.Context(), home, owner)
		if ended || err != nil || time.Now().After(limit) {
			return place, err
		}
		select {
		case <-time.After(20 * time.Millisecond):
		case <-t.Context().Done():
		}
	}
}
