package lossless

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"reflect"
	"strconv"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/parley-a2a/parley/internal/rawjson"
	"github.com/parley-a2a/parley/store/sqlitestore"
	"github.com/parley-a2a/parley/task"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// messages is how many are sent in all by default.
const messages = 560

// sent returns how many messages to send.
func sent(t *testing.T) int {
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

// atOnce is how many messages are under way at one time for each caller and route.
const atOnce = 2

func TestNothingIsLost(t *testing.T) {
	t.Parallel()
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	ways := 2 * len(routes) * len(callers)
	each := (sent(t) + ways - 1) / ways
	for store, open := range map[string]func(*testing.T, string) task.Store{
		"memory": func(*testing.T, string) task.Store { return new(task.Memory) },
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
						t.Run(c.name+" to "+string(r.agent), func(t *testing.T) {
							t.Parallel()
							many(t, each, func(n int) error {
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

// many calls f n times, some at one time, until one fails.
func many(t *testing.T, n int, f func(int) error) {
	t.Helper()
	var wg sync.WaitGroup
	for lane := range atOnce {
		wg.Go(func() {
			for i := lane; i < n && !t.Failed(); i += atOnce {
				if err := f(i); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
}

// talk sends the message of a plan and looks at all that comes.
func (w *world) talk(ctx context.Context, p *plan, c *callerOf, r route) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	w.plans.Store(p.id, p)
	defer w.plans.Delete(p.id)
	seen := make(map[int]event)
	var others []event
	id, last := "", -1
	err := c.stream(ctx, w, string(r.agent), p.request(c.name == "JSON-RPC of v0.3"), func(ev event) {
		if ev.kind == "task" {
			id, _ = rawjson.String(rawjson.Member([]byte(ev.body), "id"))
		}
		n, err := strconv.Atoi(string(rawjson.Member(rawjson.Member([]byte(ev.body), "metadata"), "step")))
		switch {
		case err != nil:
			return
		case n == 0 && last < 0:
			close(p.start)
		case n <= last:
			others = append(others, ev)
		}
		last = max(last, n)
		seen[n] = ev
	})
	if err != nil {
		return fmt.Errorf("stream of %s: %w", p.id, err)
	}
	if len(others) > 0 {
		return fmt.Errorf("events that come again, or too late: %v", others)
	}
	if r.agent == "old" { // there what stands beside an event comes in it
		for n, ev := range seen {
			ev.beside = ev.body
			seen[n] = ev
		}
	}
	x := &examiner{carries: c.carries && r.carries}
	x.request(p, <-p.heard, c)
	x.events(p, seen)
	got, err := c.get(ctx, w, string(r.agent), id)
	if err != nil {
		return fmt.Errorf("get task %s of %s: %w", id, p.id, err)
	}
	x.task(p, got)
	return errors.Join(x.problems...)
}

// examiner compares what has come with a plan.
type examiner struct {
	// carries says whether all must have come, or nothing of what the protocol does not
	// have.
	carries  bool
	problems []error
}

func (x *examiner) problem(format string, args ...any) {
	if len(x.problems) < 5 {
		x.problems = append(x.problems, fmt.Errorf(format, args...))
	}
}

// members looks for each member of want in got.
func (x *examiner) members(where, want, got string) {
	for name, v := range rawjson.Fields([]byte(want)) {
		have := rawjson.Member([]byte(got), name)
		switch {
		case !x.carries && have != nil:
			x.problem("%s has the member %q = %s, which it has no place for", where, name, have)
		case x.carries && have == nil:
			x.problem("%s lacks the member %q in %s", where, name, got)
		case x.carries && !reflect.DeepEqual(exact(string(v)), exact(string(have))):
			x.problem("%s has the member %q = %s, want %s", where, name, have, v)
		}
	}
}

// request looks at what the agent was given.
func (x *examiner) request(p *plan, got heard, c *callerOf) {
	others := []byte(got.others)
	x.members("params for the agent", p.params, string(rawjson.Member(others, "params")))
	x.members("configuration for the agent", p.configuration, string(rawjson.Member(others, "configuration")))
	x.members("message for the agent", p.message, got.message)
	x.part("message for the agent", p.part, got.message)
	if (c.carries && x.carries) != (got.others != "") {
		x.problem("the agent was given %q beside the message", got.others)
	}
}

// part looks at the only part of a message or an artifact. Its data is known, but there are
// ways that have no place for all digits.
func (x *examiner) part(where, want, in string) {
	var parts [][]byte
	for part := range rawjson.Elements(rawjson.Member([]byte(in), "parts")) {
		parts = append(parts, part)
	}
	if len(parts) != 1 {
		x.problem("%s has %d parts, want 1: %s", where, len(parts), in)
		return
	}
	if rawjson.Member(parts[0], "data") == nil {
		x.problem("%s has no data: %s", where, in)
		return
	}
	if x.carries {
		x.members("part of "+where, want, string(parts[0]))
		return
	}
	for name := range rawjson.Fields(parts[0]) {
		if name != "data" && name != "kind" {
			x.problem("part of %s has the member %q, which it has no place for", where, name)
		}
	}
}

// events looks at the events of a stream, by their steps.
func (x *examiner) events(p *plan, seen map[int]event) {
	for i, s := range p.steps {
		ev, ok := seen[i+1]
		where := fmt.Sprintf("event %d", i+1)
		switch {
		case s.kind != "":
			if ok != x.carries || ok && ev.kind != s.kind {
				x.problem("event %d of kind %s: came %v as %q", i+1, s.kind, ok, ev.kind)
			}
			x.members(where, s.body, ev.body)
			continue
		case !ok:
			x.problem("event %d has not come: %v", i+1, seen)
			continue
		}
		x.members("object around "+where, s.beside, ev.beside)
		x.members(where, s.event, ev.body)
		x.status(where, s.status, ev.body)
		if s.artifact != "" {
			artifact := string(rawjson.Member([]byte(ev.body), "artifact"))
			x.members("artifact of "+where, s.artifact, artifact)
			x.part("artifact of "+where, p.part, artifact)
		}
	}
}

func (x *examiner) status(where, want, in string) {
	if want != "" {
		x.members("status of "+where, want, string(rawjson.Member([]byte(in), "status")))
	}
}

// task looks at the whole task.
func (x *examiner) task(p *plan, got string) {
	for _, s := range p.steps {
		if s.kind == "" {
			x.members("task", s.event, got)
		}
		if s.artifact != "" {
			for artifact := range rawjson.Elements(rawjson.Member([]byte(got), "artifacts")) {
				x.members("artifact of the task", s.artifact, string(artifact))
				x.part("artifact of the task", p.part, string(artifact))
			}
		}
	}
	x.status("the task", p.steps[len(p.steps)-1].status, got)
	if state, _ := rawjson.String(rawjson.Member(rawjson.Member([]byte(got), "status"), "state")); state != "TASK_STATE_COMPLETED" && state != "completed" {
		x.problem("the task is %s", got)
	}
}
