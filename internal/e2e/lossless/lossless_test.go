package lossless

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/parley-a2a/parley/internal/json/rawjson"
	"github.com/parley-a2a/parley/internal/store/memstore"
	"github.com/parley-a2a/parley/internal/task"
	"github.com/parley-a2a/parley/store/sqlitestore"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// messages is the default number of messages: seven on each way, which is from a caller over
// one binding to an agent on one kind of store.
const messages = 672

// wanted returns the smallest number of messages to send.
func wanted(t *testing.T) int {
	t.Helper()
	text := os.Getenv("PARLEY_LOSSLESS")
	if text == "" {
		return messages
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		t.Fatalf("PARLEY_LOSSLESS = %q, want a number of messages", text)
	}
	return n
}

// atOnce is the number of concurrent messages for each caller and route.
const atOnce = 2

func TestNothingIsLost(t *testing.T) {
	t.Parallel()
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	n, ways := wanted(t), 2*len(routes)*len(callers)
	each := (n + ways - 1) / ways
	var sent atomic.Int64
	began := time.Now()
	t.Cleanup(func() {
		t.Logf("%d messages on %d ways in %v", sent.Load(), ways, time.Since(began).Round(time.Millisecond))
		if !t.Failed() && sent.Load() < int64(n) {
			t.Errorf("%d messages were sent, want at least %d", sent.Load(), n)
		}
	})
	for store, open := range map[string]func(*testing.T, string) task.Store{
		"memory": func(*testing.T, string) task.Store { return new(memstore.Store) },
		"sqlite": func(t *testing.T, name string) task.Store {
			db, err := sqlitestore.Open(t.TempDir()+"/"+name+".db", sqlitestore.Options{})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { db.Close() })
			return db.Tasks()
		},
	} {
		t.Run(store, func(t *testing.T) {
			t.Parallel()
			w := startWorld(t, func(name string) task.Store { return open(t, name) })
			t.Run("group", func(t *testing.T) { // ends before the world does
				for _, c := range callers {
					for i, r := range routes {
						t.Run(c.binding+" to "+string(r.agent), func(t *testing.T) {
							t.Parallel()
							many(t, each, func(n int) error {
								sent.Add(1)
								g := generator{rand.New(rand.NewPCG(seed, uint64(n*len(routes)+i)))}
								return w.talk(t.Context(), newPlan(g), &c, r)
							})
						})
					}
				}
			})
		})
	}
}

// many calls f n times, partly concurrently, until one call fails.
func many(t *testing.T, n int, f func(int) error) {
	t.Helper()
	var wg sync.WaitGroup
	for first := range atOnce {
		wg.Go(func() {
			for i := first; i < n && !t.Failed(); i += atOnce {
				if err := f(i); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
}

// talk sends the message of a plan and checks all answers.
func (w *world) talk(ctx context.Context, p *plan, c *callerOf, r route) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	w.plans.Store(p.id, p)
	defer w.plans.Delete(p.id)
	f := &follower{start: p.start, seen: make(map[int]event), last: -1}
	if err := c.stream(ctx, w, string(r.agent), p, f.event); err != nil {
		return fmt.Errorf("stream of %s: %w", p.id, err)
	}
	if len(f.others) > 0 {
		return fmt.Errorf("events that come again, or too late: %v", f.others)
	}
	x := &examiner{lost: w.lost, caller: c, route: r}
	select {
	case got := <-p.heard:
		x.request(p, got)
	default:
		return fmt.Errorf("the agent was not given %s; the caller got %v", p.id, f.seen)
	}
	x.events(p, f.seen)
	got, err := c.get(ctx, w, string(r.agent), f.id)
	if err != nil {
		return fmt.Errorf("get task %s of %s: %w", f.id, p.id, err)
	}
	x.task(p, got)
	return errors.Join(x.problems...)
}

// follower sorts the events of a stream by their steps.
type follower struct {
	start  chan struct{}
	id     string
	seen   map[int]event
	others []event
	last   int
}

func (f *follower) event(ev event) {
	if ev.kind == "task" {
		f.id, _ = rawjson.String(rawjson.Member([]byte(ev.body), "id"))
	}
	n, err := strconv.Atoi(member(member(ev.body, "metadata"), "step"))
	switch {
	case err != nil:
		return
	case n == 0 && f.last < 0:
		close(f.start)
	case n <= f.last:
		f.others = append(f.others, ev)
	}
	f.last = max(f.last, n)
	f.seen[n] = ev
}

// member returns a member of an object, empty if there is none.
func member(obj, name string) string { return string(rawjson.Member([]byte(obj), name)) }
