package keeper

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/parley-a2a/parley/internal/backoff"
	"github.com/parley-a2a/parley/internal/cluster"
	"github.com/parley-a2a/parley/internal/task"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var errDown = errors.New("database is down")

// table is a table of members.
type table struct {
	mu   sync.Mutex // guards the fields below
	rows []row
	next int64
	lost int
	down bool
}

type row struct {
	cluster.Member

	until time.Time
}

// seat is the access of one hub to a table.
type seat struct {
	*table

	id    string
	epoch int64
	// cut is set while this hub cannot reach the table.
	cut bool
}

func (t *table) join(id string, holder task.Holder) *seat {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.next++
	t.rows = append(t.rows, row{cluster.Member{Hub: cluster.Hub{ID: id, Holder: holder, Config: "c"}, Epoch: t.next}, time.Now().Add(5 * time.Second)})
	return &seat{table: t, id: id, epoch: t.next}
}

func (s *seat) Renew(_ context.Context, n cluster.Renewal) ([]cluster.Member, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.down || s.cut {
		return nil, errDown
	}
	var all []cluster.Member
	mine := false
	for i := range s.rows {
		if r := &s.rows[i]; r.Epoch == s.epoch {
			mine, r.until, r.View = true, time.Now().Add(n.Lease), n.View
		}
		m := s.rows[i].Member
		m.Lease = time.Until(s.rows[i].until)
		all = append(all, m)
	}
	if !mine {
		return nil, fmt.Errorf("renew: %w", cluster.ErrLost)
	}
	return all, nil
}

func (s *seat) Rejoin(_ context.Context, holder task.Holder) error {
	s.mu.Lock()
	if s.down || s.cut {
		s.mu.Unlock()
		return errDown
	}
	s.rows = slices.DeleteFunc(s.rows, func(r row) bool { return r.ID == s.id })
	s.mu.Unlock()
	again := s.join(s.id, holder)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.epoch = again.epoch
	return nil
}

func (s *seat) Lose(context.Context) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	before := len(s.rows)
	s.rows = slices.DeleteFunc(s.rows, func(r row) bool { return r.until.Before(time.Now()) && r.Epoch != s.epoch })
	s.lost += before - len(s.rows)
	return before - len(s.rows), nil
}

func (s *seat) set(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f()
}

// runner records the requests of a Keeper to the engine.
type runner struct {
	mu         sync.Mutex // guards the fields below
	suspended  time.Time
	holder     task.Holder
	took, pass int
}

func (r *runner) Suspend() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.suspended = time.Now()
}

func (r *runner) Continue(holder task.Holder) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.suspended, r.holder = time.Time{}, holder
}

func (r *runner) TakeOver(_ context.Context, all bool) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if all {
		r.pass++
	} else {
		r.took++
	}
	return nil
}

func (r *runner) look() runner {
	r.mu.Lock()
	defer r.mu.Unlock()
	return runner{suspended: r.suspended, holder: r.holder, took: r.took, pass: r.pass}
}

// begin runs the Keeper of a hub until stop is called.
func begin(t *testing.T, s *seat, holder task.Holder) (k *Keeper, r *runner, stop func()) {
	t.Helper()
	r = new(runner)
	k = &Keeper{
		Table: s, ID: s.id, Holder: holder, Config: "c", Logger: slog.New(slog.DiscardHandler),
		Listen: func(ctx context.Context, _ func(cluster.Hint)) error {
			<-ctx.Done()
			return ctx.Err()
		},
		Follow: func(context.Context, cluster.Hint) {},
	}
	if err := k.Join(t.Context()); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- k.Run(ctx, r) }()
	return k, r, func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("Run: %v", err)
		}
	}
}

// A hub that cannot renew stops acting before its lease ends, and the other one takes over after
// that; then it returns as another holder.
func TestCut(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		all := new(table)
		sa, sb := all.join("a", "hub:a"), all.join("b", "hub:b")
		_, ra, stopA := begin(t, sa, "hub:a")
		kb, rb, stopB := begin(t, sb, "hub:b")
		defer stopA()
		defer stopB()
		time.Sleep(time.Minute)
		synctest.Wait()
		if r := ra.look(); !r.suspended.IsZero() || rb.look().took != 0 || !kb.Live("hub:a") {
			t.Fatalf("hubs that renew: %+v", r.suspended)
		}
		sa.set(func() { sa.cut = true })
		cut := time.Now()
		for rb.look().took == 0 {
			time.Sleep(10 * time.Millisecond)
			synctest.Wait()
		}
		took := time.Since(cut)
		switch at := ra.look().suspended; {
		case at.IsZero():
			t.Error("the hub still acted when the other one took over")
		case at.Sub(cut) > 5*time.Second:
			t.Errorf("the hub acted for %v", at.Sub(cut))
		}
		if took > 7*time.Second {
			t.Errorf("takeover after %v, want the lease and 2 s at most", took)
		}
		if kb.Live("hub:a") || !kb.Takes(1) || !kb.Does("a job") {
			t.Error("the lost hub is still live for the other one")
		}
		sa.set(func() { sa.cut = false })
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if r := ra.look(); !r.suspended.IsZero() || r.holder == "" || !kb.Live(r.holder) || rb.look().pass == 0 {
			t.Errorf("after the cut: suspended at %v, holder %q", r.suspended, r.holder)
		}
		if kb.Live("hub:a") {
			t.Error("the earlier holder is live again")
		}
	})
}

// After a fault of the database, hubs that return at different times lose no other hub.
func TestDatabaseDown(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		all := new(table)
		sa, sb := all.join("a", "hub:a"), all.join("b", "hub:b")
		_, _, stopA := begin(t, sa, "hub:a")
		_, _, stopB := begin(t, sb, "hub:b")
		defer stopA()
		defer stopB()
		time.Sleep(time.Minute)
		synctest.Wait()
		sa.set(func() { all.down, sa.cut = true, true })
		time.Sleep(20 * time.Second)
		synctest.Wait()
		sa.set(func() { all.down = false })
		time.Sleep(4 * time.Second)
		synctest.Wait()
		sa.set(func() { sa.cut = false })
		time.Sleep(time.Second)
		synctest.Wait()
		all.mu.Lock()
		n, lost := len(all.rows), all.lost
		all.mu.Unlock()
		if n != 2 || lost != 0 {
			t.Errorf("%d hubs are left, %d were lost", n, lost)
		}
	})
}

// A hub that is alone acts for longer without its database.
func TestAlone(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := new(table).join("a", "hub:a")
		k, r, stop := begin(t, s, "hub:a")
		defer stop()
		time.Sleep(time.Minute)
		synctest.Wait()
		if k.Live("hub:unknown") {
			t.Error("a holder that never was a member is live")
		}
		s.set(func() {
			if left := time.Until(s.rows[0].until); left < 20*time.Second {
				t.Errorf("the lease of a hub that is alone ends in %v", left)
			}
			s.down = true
		})
		time.Sleep(20 * time.Second)
		synctest.Wait()
		if !r.look().suspended.IsZero() || k.Live("") {
			t.Error("a hub that is alone is suspended within 20 s")
		}
		time.Sleep(20 * time.Second)
		synctest.Wait()
		if r.look().suspended.IsZero() || !k.Suspended() || k.Does("a job") || k.Holds(1) {
			t.Error("the hub acts after its lease")
		}
	})
}

// The members share tasks and jobs.
func TestShare(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		all := new(table)
		var hubs []*Keeper
		for _, id := range []string{"a", "b", "c"} {
			k, _, stop := begin(t, all.join(id, task.Holder("hub:"+id)), task.Holder("hub:"+id))
			defer stop()
			hubs = append(hubs, k)
		}
		time.Sleep(5 * time.Second)
		synctest.Wait()
		for key := range task.Key(30) {
			takes, does, holds := 0, 0, 0
			for _, k := range hubs {
				takes += count(k.Takes(key))
				does += count(k.Does(fmt.Sprint("job ", key)))
				holds += count(k.Holds(key))
			}
			if takes != 1 || does != 1 || holds != 1 {
				t.Errorf("%d hubs take task %d, %d hold its webhooks, %d do the job", takes, key, holds, does)
			}
		}
	})
}

func count(yes bool) int {
	if yes {
		return 1
	}
	return 0
}

// While hubs join, leave, are lost and return, no key is held by two of them, even if a hub needs time to
// end its work. In the end each key is held again.
func TestHolds(t *testing.T) {
	t.Parallel()
	for seed := range uint64(20) {
		synctest.Test(t, func(t *testing.T) { changes(t, rand.New(rand.NewPCG(seed, 1))) }) //nolint:gosec // to be repeated
	}
}

// worker is a hub, and the keys of the work that it has begun and not ended.
type worker struct {
	runner
	*Keeper

	seat *seat
	stop func()
	busy map[task.Key]bool // guarded by runner.mu
}

const workKeys = 20

// Suspend implements Runner.
func (w *worker) Suspend() {
	w.runner.mu.Lock()
	defer w.runner.mu.Unlock()
	clear(w.busy)
}

// work begins work for the keys that the hub holds, and returns those at work.
func (w *worker) work() map[task.Key]bool {
	w.runner.mu.Lock()
	defer w.runner.mu.Unlock()
	for key := range task.Key(workKeys) {
		if w.Holds(key) {
			w.busy[key] = true
		}
	}
	return maps.Clone(w.busy)
}

// startWorker starts a hub. It needs up to most to end work.
func startWorker(t *testing.T, all *table, id string, most time.Duration) *worker {
	w := &worker{busy: make(map[task.Key]bool), seat: all.join(id, task.Holder("hub:"+id))}
	w.Keeper = &Keeper{
		Table: w.seat, ID: id, Holder: task.Holder("hub:" + id), Config: "c", Logger: slog.New(slog.DiscardHandler),
		Listen: func(ctx context.Context, _ func(cluster.Hint)) error {
			<-ctx.Done()
			return ctx.Err()
		},
		Follow: func(context.Context, cluster.Hint) {},
		Yield: func(ctx context.Context) error {
			if err := backoff.Sleep(ctx, most); err != nil {
				return err
			}
			w.runner.mu.Lock()
			defer w.runner.mu.Unlock()
			maps.DeleteFunc(w.busy, func(key task.Key, _ bool) bool { return !w.Holds(key) })
			return nil
		},
	}
	if err := w.Join(t.Context()); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = w.Run(ctx, w) // it never fails
	}()
	w.stop = func() {
		cancel()
		<-done
		w.seat.set(func() {
			w.seat.rows = slices.DeleteFunc(w.seat.rows, func(r row) bool { return r.Epoch == w.seat.epoch })
		})
	}
	return w
}

// changes lets hubs join, leave and lose their connections at random.
func changes(t *testing.T, r *rand.Rand) {
	all, hubs := new(table), make(map[string]*worker)
	defer func() {
		for _, w := range hubs {
			w.stop()
		}
	}()
	for range 60 {
		id := string(rune('a' + r.IntN(5)))
		switch w := hubs[id]; {
		case w == nil:
			hubs[id] = startWorker(t, all, id, time.Duration(r.IntN(1000))*time.Millisecond)
		case r.IntN(2) == 0:
			w.stop()
			delete(hubs, id)
		default:
			w.seat.set(func() { w.seat.cut = !w.seat.cut })
		}
		for range r.IntN(80) {
			time.Sleep(50 * time.Millisecond)
			synctest.Wait()
			oneEach(t, hubs)
		}
	}
	for _, w := range hubs {
		w.seat.set(func() { w.seat.cut = false })
	}
	time.Sleep(20 * time.Second)
	synctest.Wait()
	if n := oneEach(t, hubs); n != workKeys && len(hubs) > 0 {
		t.Errorf("%d hubs work on %d of %d keys in the end", len(hubs), n, workKeys)
	}
}

// oneEach lets all hubs work, checks that no two have work for one key, and returns the number of keys.
func oneEach(t *testing.T, hubs map[string]*worker) int {
	t.Helper()
	at := make(map[task.Key]string)
	for id, w := range hubs {
		for key := range w.work() {
			if at[key] != "" {
				t.Fatalf("hubs %s and %s both work on key %d", at[key], id, key)
			}
			at[key] = id
		}
	}
	return len(at)
}

// A hub with another configuration is named, and a hub that is asked to leave does.
func TestDrainAndConfig(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		all := new(table)
		sa := all.join("a", "hub:a")
		all.join("b", "hub:b")
		k, _, stop := begin(t, sa, "hub:a")
		defer stop()
		drained := 0
		sa.set(func() { k.Drain = func() { drained++ } })
		all.mu.Lock()
		all.rows[1].Config = "other"
		all.rows[1].until = time.Now().Add(time.Hour)
		all.rows[0].Drain = true
		all.mu.Unlock()
		time.Sleep(10 * time.Second)
		synctest.Wait()
		if members, others := k.Members(); len(members) != 2 || others != " b" {
			t.Errorf("Members = %d, %q", len(members), others)
		}
		if drained != 1 {
			t.Errorf("drained %d times", drained)
		}
	})
}
