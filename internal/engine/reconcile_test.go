package engine_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2asrv"

	"github.com/parley-a2a/parley/agent"
	"github.com/parley-a2a/parley/internal/apierror"
	"github.com/parley-a2a/parley/internal/engine"
	"github.com/parley-a2a/parley/internal/engine/enginetest"
	"github.com/parley-a2a/parley/internal/limits"
	"github.com/parley-a2a/parley/internal/op"
	"github.com/parley-a2a/parley/internal/store/memstore"
	"github.com/parley-a2a/parley/internal/task"
)

// failingStore is a store in memory that fails once, at a given change, and may stay broken.
type failingStore struct {
	memstore.Store
	// keep stores the failed write nevertheless; stay fails all further writes until heal.
	keep, stay bool

	mu    sync.Mutex // guards the fields below
	match func(*task.Change) bool
	hooks bool // the next hook that is stored or deleted fails
	down  bool
	hits  int
}

// fails reports whether a write fails, and whether it is stored nevertheless.
func (s *failingStore) fails(hit func() bool) (fails, kept bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.down {
		return true, false
	}
	if !hit() {
		return false, true
	}
	s.match, s.hooks, s.down = nil, false, s.stay
	s.hits++
	return true, s.keep
}

var errSector = fmt.Errorf("commit: sector 7: %w", task.ErrUnavailable)

func (s *failingStore) write(hit func() bool, f func() error) error {
	fails, kept := s.fails(hit)
	if kept {
		if err := f(); err != nil || !fails {
			return err
		}
	}
	return errSector
}

func (s *failingStore) Append(ctx context.Context, c *task.Change) error {
	return s.write(func() bool { return s.match != nil && s.match(c) }, func() error { return s.Store.Append(ctx, c) })
}

func (s *failingStore) PutHook(ctx context.Context, h *task.Hook) error {
	return s.write(func() bool { return s.hooks }, func() error { return s.Store.PutHook(ctx, h) })
}

func (s *failingStore) DropHook(ctx context.Context, ref task.HookRef) error {
	return s.write(func() bool { return s.hooks }, func() error { return s.Store.DropHook(ctx, ref) })
}

func (s *failingStore) Probe(context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.down {
		return errSector
	}
	return nil
}

// arm makes the next change that matches fail.
func (s *failingStore) arm(match func(*task.Change) bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.match = match
}

func (s *failingStore) armHooks() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.hooks = true
}

func (s *failingStore) heal() (hits int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.down, s.match, s.hooks = false, nil, false
	return s.hits
}

// Changes that can fail.
func creates(c *task.Change) bool { return c.Prev.Rev == 0 }

func followsUp(c *task.Change) bool { return len(c.Entries) == 1 && c.Entries[0].Kind == task.Message }

func claims(c *task.Change) bool {
	return len(c.Entries) == 0 && c.Next.Run.Dispatch == task.Claimed && c.Prev.Run.Dispatch != task.Claimed
}

func releases(c *task.Change) bool {
	return len(c.Entries) == 0 && c.Next.Run.Dispatch == task.Idle && c.Prev.Run.Dispatch == task.Claimed
}

func requeues(c *task.Change) bool {
	return len(c.Entries) == 0 && c.Next.Run.Dispatch == task.Pending && c.Prev.Run.Dispatch == task.Claimed
}

func ends(c *task.Change) bool { return c.Next.State.Terminal() }

func asksToCancel(c *task.Change) bool { return c.Prev.CancelAt == 0 && c.Next.CancelAt != 0 }

func withdraws(c *task.Change) bool {
	return c.Prev.CancelAt != 0 && c.Next.CancelAt == 0 && c.Next.State.Open()
}

func reveals(c *task.Change) bool {
	return len(c.Entries) == 0 && c.Prev.Visibility == task.Hidden && c.Next.Visibility == task.Visible
}

// scriptedAgent executes the commands in messages, and counts them. Without a command it
// completes.
type scriptedAgent struct {
	executor
	mu   sync.Mutex
	runs map[string]int
}

func newScriptedAgent() *scriptedAgent {
	x := &scriptedAgent{runs: make(map[string]int)}
	x.run = x.obey
	x.cancel = func(context.Context, *a2asrv.ExecutorContext, func(a2a.Event, error) bool) {}
	return x
}

// obey runs in a bubble of fake time.
func (x *scriptedAgent) obey(ctx context.Context, ec *a2asrv.ExecutorContext, yield func(a2a.Event, error) bool) {
	call := agent.CallFrom(ctx)
	x.mu.Lock()
	x.runs[call.Key]++
	x.mu.Unlock()
	word := ec.Message.Parts[0].Text()
	if strings.HasPrefix(word, "slow") {
		yield(status(ec, a2a.TaskStateWorking, ""), nil)
		time.Sleep(2 * time.Second)
	}
	switch {
	case strings.HasSuffix(word, "ask"):
		yield(status(ec, a2a.TaskStateInputRequired, "?"), nil)
	case strings.HasSuffix(word, "auth"):
		yield(status(ec, a2a.TaskStateAuthRequired, "who?"), nil)
	case strings.HasSuffix(word, "hold"):
		yield(status(ec, a2a.TaskStateWorking, ""), nil)
		<-ctx.Done()
	case strings.HasSuffix(word, "mute"):
		select {
		case <-ctx.Done():
		case <-time.After(5 * time.Second):
			yield(status(ec, a2a.TaskStateCompleted, ""), nil)
		}
	default:
		yield(status(ec, a2a.TaskStateCompleted, ""), nil)
	}
}

// repeated returns the messages that were executed more than once.
func (x *scriptedAgent) repeated() []string {
	x.mu.Lock()
	defer x.mu.Unlock()
	var keys []string
	for k, n := range x.runs {
		if n > 1 {
			keys = append(keys, k)
		}
	}
	return keys
}

func (x *scriptedAgent) executed() int {
	x.mu.Lock()
	defer x.mu.Unlock()
	return len(x.runs)
}

// failingWorld is an engine whose store is about to fail.
type failingWorld struct {
	*bench
	store  *failingStore
	agent  *scriptedAgent
	pusher *enginetest.Pusher
	keep   bool
}

// sendRefused sends a message that must be refused at once because of the store.
func (o *failingWorld) sendRefused(r *op.Send) {
	o.t.Helper()
	began := time.Now()
	_, err := o.Send(o.t.Context(), alice, r)
	if !errors.Is(err, apierror.ErrUnavailable) || time.Since(began) > 3*time.Second {
		o.t.Errorf("Send = %v after %v, want ErrUnavailable soon", err, time.Since(began))
	}
}

// checkResult checks the result of a call that waited while the store failed. If the failure was
// over at once, the end may have come first.
func (o *failingWorld) checkResult(began time.Time, err error) {
	o.t.Helper()
	over := err == nil || errors.Is(err, a2a.ErrTaskNotCancelable)
	soon := errors.Is(err, apierror.ErrUnavailable) && time.Since(began) <= 3*time.Second
	if !soon && (o.store.stay || !over) {
		o.t.Errorf("the caller got %v after %v, want ErrUnavailable soon", err, time.Since(began))
	}
}

// sendAndWait sends a message and waits for its outcome while the store fails.
func (o *failingWorld) sendAndWait(r *op.Send) {
	o.t.Helper()
	began := time.Now()
	_, err := o.Send(o.t.Context(), alice, r)
	o.checkResult(began, err)
}

// sleep runs in a bubble of fake time.
func (o *failingWorld) sleep(d time.Duration) { time.Sleep(d) }

// heads returns all tasks of alice.
func (o *failingWorld) heads() []task.Head {
	o.t.Helper()
	page, err := o.store.List(o.t.Context(), &task.Query{Owner: "alice", Limit: 1000})
	if err != nil {
		o.t.Fatal(err)
	}
	return page.Heads
}

// head returns the stored head of a task.
func (o *failingWorld) head(id a2a.TaskID) task.Head {
	o.t.Helper()
	h, err := o.store.Head(o.t.Context(), "alice", id)
	if err != nil {
		o.t.Fatal(err)
	}
	return h
}

// state checks the state of a task, which depends on whether the failed change was stored.
func (o *failingWorld) state(id a2a.TaskID, kept, lost task.State) {
	o.t.Helper()
	want := lost
	if o.keep {
		want = kept
	}
	if h := o.head(id); h.State != want {
		o.t.Errorf("task is %v at v%d (%+v), want %v", h.State, h.Version, h.Run, want)
	}
}

// checkIdle checks that no work is left over, none was done twice, and readers and the pusher
// agree with the store.
func (o *failingWorld) checkIdle() {
	o.t.Helper()
	synctest.Wait()
	due, err := o.store.Due(o.t.Context(), 0, 1000)
	if err != nil {
		o.t.Fatal(err)
	}
	for _, h := range due {
		o.t.Errorf("task %s is left behind: %v v%d, asked v%d, read v%d, cancel %v, run %+v", h.ID, h.State, h.Version, h.LastMessage, h.Consumed, h.CancelAt, h.Run)
	}
	if keys := o.agent.repeated(); len(keys) > 0 {
		o.t.Errorf("messages %v were executed twice", keys)
	}
	if got := engine.Holds(o.Engine); got != (engine.Held{}) {
		o.t.Errorf("the engine at rest holds %+v, want nothing", got)
	}
	if n := engine.BusyCallers(o.Engine); n != 0 {
		o.t.Errorf("%d callers are busy, want none", n)
	}
	for _, h := range o.heads() {
		o.checkPusher(&h)
	}
}

// checkPusher checks that the pusher knows all hooks of a task and its newest version.
func (o *failingWorld) checkPusher(h *task.Head) {
	o.t.Helper()
	have, err := o.store.Hooks(o.t.Context(), h.Key, "", 100)
	if err != nil {
		o.t.Fatal(err)
	}
	known := o.pusher.Known(h.Key)
	if len(known) != len(have) {
		o.t.Errorf("the pusher knows %d hooks of task %s, %d are stored", len(known), h.ID, len(have))
	}
	for _, k := range known {
		if k.Reached != h.Version {
			o.t.Errorf("hook %s has reached v%d, the task is at v%d", k.ID, k.Reached, h.Version)
		}
	}
}

// trial is one scenario of a failure.
type trial struct {
	name string
	runs int // Config.MaxRuns
	// play makes the store fail once, and returns the check to run after it works again.
	play func(o *failingWorld) (check func())
}

func TestReconciliation(t *testing.T) {
	t.Parallel()
	for _, tt := range trials {
		for i := range 4 {
			keep, stay := i&1 != 0, i&2 != 0
			t.Run(fmt.Sprintf("%s/stored %v/stays %v", tt.name, keep, stay), func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) { tt.run(t, keep, stay) })
			})
		}
	}
}

// run plays a trial. It runs in a bubble of fake time.
func (tt *trial) run(t *testing.T, keep, stay bool) {
	o := newFailingWorld(t, &failingStore{keep: keep, stay: stay}, engine.Config{Limits: limits.Limits{MaxRuns: tt.runs}}, agent.Traits{})
	defer o.stop()
	check := tt.play(o)
	time.Sleep(5 * time.Second)
	synctest.Wait()
	if hits := o.store.heal(); hits != 1 {
		t.Fatalf("the store failed %d times on purpose, want once", hits)
	}
	time.Sleep(10 * time.Second)
	synctest.Wait()
	check()
	o.checkIdle()
}

func newFailingWorld(t *testing.T, store *failingStore, cfg engine.Config, traits agent.Traits) *failingWorld {
	t.Helper()
	cfg.Store, cfg.TasksPerCaller, cfg.DrainTimeout = store, 1000, -1
	x := newScriptedAgent()
	b, p := pushing(t, cfg, agent.With(x, traits))
	return &failingWorld{bench: b, store: store, agent: x, pusher: p, keep: store.keep}
}

var trials = []trial{
	{name: "create", play: func(o *failingWorld) func() {
		o.store.arm(creates)
		o.sendRefused(withPush(text("new"), "a"))
		return func() { o.onlyFailed() }
	}},
	{name: "create in line", runs: 1, play: func(o *failingWorld) func() {
		o.send(now(text("slow")))
		o.store.arm(creates)
		o.sendRefused(now(text("new")))
		return func() {
			if n := o.agent.executed(); n != 1 {
				o.t.Errorf("%d messages were executed, want the first alone", n)
			}
		}
	}},
	{name: "create with an id of the caller", play: func(o *failingWorld) func() {
		r := now(reply("chosen", "slow"))
		r.NewIDs = true
		o.store.arm(creates)
		o.sendRefused(r)
		o.store.heal()
		_, err := o.Send(o.t.Context(), alice, r)
		if o.keep != errors.Is(err, a2a.ErrUnsupportedOperation) || !o.keep && err != nil {
			o.t.Errorf("Send again = %v; the first was stored: %v", err, o.keep)
		}
		return func() { o.state("chosen", task.Failed, task.Completed) }
	}},
	{name: "follow-up", play: func(o *failingWorld) func() {
		id := o.send(text("ask")).Head.ID
		o.store.arm(followsUp)
		o.sendRefused(withPush(reply(id, "answer"), "a"))
		return func() { o.state(id, task.Completed, task.InputRequired) }
	}},
	{name: "follow-up in line", runs: 1, play: func(o *failingWorld) func() {
		id := o.send(text("ask")).Head.ID
		o.send(now(text("slow")))
		o.store.arm(followsUp)
		o.sendRefused(reply(id, "answer"))
		return func() { o.state(id, task.Completed, task.InputRequired) }
	}},
	{name: "follow-up, and another one", play: func(o *failingWorld) func() {
		id := o.send(text("ask")).Head.ID
		o.store.arm(followsUp)
		o.sendRefused(reply(id, "ask"))
		o.store.heal()
		o.send(now(reply(id, "answer")))
		return func() {
			o.state(id, task.Completed, task.Completed)
			if want := map[bool]int{true: 3, false: 2}[o.keep]; o.agent.executed() != want {
				o.t.Errorf("%d messages were executed, want %d", o.agent.executed(), want)
			}
		}
	}},
	{name: "follow-up of a working task", play: func(o *failingWorld) func() {
		id := o.send(now(text("slow ask"))).Head.ID
		o.store.arm(followsUp)
		o.sendRefused(reply(id, "answer"))
		return func() { o.state(id, task.Completed, task.InputRequired) }
	}},
	{name: "claim from the line", runs: 1, play: func(o *failingWorld) func() {
		o.send(now(text("slow")))
		first := o.send(now(text("first"))).Head.ID
		second := o.send(now(text("second"))).Head.ID
		o.store.arm(claims)
		return func() {
			o.state(first, task.Completed, task.Completed)
			if h := o.head(first); h.Run.Attempt != 1 {
				o.t.Errorf("attempt %d, want 1: a run that has not begun does not count", h.Run.Attempt)
			}
			o.state(second, task.Completed, task.Completed)
		}
	}},
	{name: "claim of the next message", play: func(o *failingWorld) func() {
		id := o.send(now(text("slow ask"))).Head.ID
		o.send(now(reply(id, "answer")))
		o.store.arm(claims)
		return func() { o.state(id, task.Completed, task.Completed) }
	}},
	{name: "run that lets go", play: func(o *failingWorld) func() {
		o.store.arm(releases)
		id := o.send(text("auth")).Head.ID
		return func() {
			if got := o.send(reply(id, "answer")); got.Head.State != task.Completed {
				o.t.Errorf("answered task is %v, want COMPLETED", got.Head.State)
			}
		}
	}},
	{name: "run that lets go while a message waits", play: func(o *failingWorld) func() {
		id := o.send(now(text("slow auth"))).Head.ID
		o.send(now(reply(id, "answer")))
		o.store.arm(releases)
		return func() { o.state(id, task.Completed, task.Completed) }
	}},
	{name: "terminal status", play: func(o *failingWorld) func() {
		o.store.arm(ends)
		o.sendAndWait(withPush(text("hi"), "a"))
		return func() {
			o.state(o.heads()[0].ID, task.Completed, task.Completed)
		}
	}},
	{name: "cancel request", play: func(o *failingWorld) func() {
		id := o.send(now(text("hold"))).Head.ID
		o.store.arm(asksToCancel)
		if _, err := o.cancelTask(id); !errors.Is(err, apierror.ErrUnavailable) {
			o.t.Errorf("Cancel = %v, want ErrUnavailable", err)
		}
		return func() {
			o.state(id, task.Canceled, task.Working)
			if !o.keep {
				_, _ = o.cancelTask(id)
				o.state(id, task.Canceled, task.Canceled)
			}
		}
	}},
	{name: "cancel request that the agent refuses", play: func(o *failingWorld) func() {
		id := o.send(now(text("mute"))).Head.ID
		o.agent.cancel = func(_ context.Context, _ *a2asrv.ExecutorContext, yield func(a2a.Event, error) bool) {
			yield(nil, a2a.ErrTaskNotCancelable)
		}
		o.store.arm(asksToCancel)
		if _, err := o.cancelTask(id); !errors.Is(err, apierror.ErrUnavailable) {
			o.t.Errorf("Cancel = %v, want ErrUnavailable", err)
		}
		o.store.heal()
		return func() { o.state(id, task.Completed, task.Completed) }
	}},
	{name: "end of a cancellation", play: func(o *failingWorld) func() {
		id := o.send(now(text("hold"))).Head.ID
		o.sleep(time.Second)
		o.store.arm(ends)
		began := time.Now()
		_, err := o.cancelTask(id)
		o.checkResult(began, err)
		return func() { o.state(id, task.Canceled, task.Canceled) }
	}},
	{name: "cancellation that the agent refuses", play: func(o *failingWorld) func() {
		id := o.send(now(text("mute"))).Head.ID
		o.agent.cancel = func(_ context.Context, _ *a2asrv.ExecutorContext, yield func(a2a.Event, error) bool) {
			yield(nil, a2a.ErrTaskNotCancelable)
		}
		o.store.arm(withdraws)
		began := time.Now()
		_, err := o.cancelTask(id)
		o.checkResult(began, err)
		return func() { o.state(id, task.Completed, task.Completed) }
	}},
	{name: "quiet task that is shown", play: func(o *failingWorld) func() {
		o.store.arm(reveals)
		o.sendAndWait(text("mute"))
		return func() {
			if heads := o.heads(); len(heads) != 1 || heads[0].State != task.Completed {
				o.t.Errorf("tasks = %+v, want one that is COMPLETED", heads)
			}
		}
	}},
	{name: "hook that is put", play: func(o *failingWorld) func() {
		id := o.send(text("ask")).Head.ID
		o.store.armHooks()
		if _, err := o.CreatePush(o.t.Context(), alice, config(id, "a")); !errors.Is(err, apierror.ErrUnavailable) {
			o.t.Errorf("CreatePush = %v, want ErrUnavailable", err)
		}
		return func() { o.state(id, task.InputRequired, task.InputRequired) }
	}},
	{name: "hook that is dropped", play: func(o *failingWorld) func() {
		id := o.send(text("ask")).Head.ID
		o.push(config(id, "a"))
		o.store.armHooks()
		if err := o.DeletePush(o.t.Context(), alice, &op.PushRef{TaskID: id, ID: "a"}); !errors.Is(err, apierror.ErrUnavailable) {
			o.t.Errorf("DeletePush = %v, want ErrUnavailable", err)
		}
		return func() { o.send(reply(id, "answer")) }
	}},
}

// onlyFailed checks that a task whose caller was refused has failed if it exists, and was never
// executed.
func (o *failingWorld) onlyFailed() {
	o.t.Helper()
	heads := o.heads()
	if want := map[bool]int{true: 1, false: 0}[o.keep]; len(heads) != want {
		o.t.Errorf("%d tasks are there, want %d", len(heads), want)
	}
	for _, h := range heads {
		if h.State != task.Failed {
			o.t.Errorf("task is %v, want FAILED", h.State)
		}
	}
	if n := o.agent.executed(); n != 0 {
		o.t.Errorf("%d messages were executed, want none", n)
	}
}

// A caller that waits for a queued task gets an error when the claim cannot be stored.
func TestQueuedCallerGetsTheErrorOfAFailingStore(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		o := newFailingWorld(t, &failingStore{stay: true}, engine.Config{Limits: limits.Limits{MaxRuns: 1}}, agent.Traits{})
		defer o.stop()
		o.send(now(text("slow")))
		o.store.arm(claims)
		o.sendRefused(text("first"))
		o.store.heal()
		time.Sleep(5 * time.Second)
		synctest.Wait()
		o.checkIdle()
	})
}

// A quiet task is shown once the store works, although its agent yields nothing, if its quiet
// time is over.
func TestQuietTaskIsShownOnceTheStoreWorks(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		o := newFailingWorld(t, &failingStore{stay: true}, engine.Config{}, agent.Traits{})
		defer o.stop()
		o.store.arm(reveals)
		o.sendRefused(text("mute"))
		o.store.heal()
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if heads := o.heads(); len(heads) != 1 || heads[0].State != task.Submitted {
			t.Errorf("tasks = %+v, want one that is SUBMITTED", heads)
		}
		time.Sleep(10 * time.Second)
		synctest.Wait()
		o.checkIdle()
	})
}

// Tasks of an earlier process are recovered although the store fails meanwhile.
func TestRecoveryWhileTheStoreFails(t *testing.T) {
	t.Parallel()
	for i := range 4 {
		keep, stay := i&1 != 0, i&2 != 0
		t.Run(fmt.Sprintf("stored %v/stays %v", keep, stay), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				store, began := &failingStore{keep: keep, stay: stay}, make(chan context.Context, 1)
				id := stopped(t, store, idempotent(untilStopped(began)), began)
				store.arm(requeues)
				b := start(t, engine.Config{Store: store}, idempotent(words("x")))
				time.Sleep(3 * time.Second)
				synctest.Wait()
				if hits := store.heal(); hits != 1 {
					t.Fatalf("the store failed %d times on purpose, want once", hits)
				}
				time.Sleep(3 * time.Second)
				synctest.Wait()
				if h := b.get(id).Head; h.State != task.Completed {
					t.Errorf("task is %v (%+v), want COMPLETED", h.State, h.Run)
				}
				b.stop()
			})
		})
	}
}

// Pending changes are held in memory. At the limit, messages are refused without an attempt,
// until the store works.
func TestPendingWorkIsBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := &failingStore{stay: true}
		o := newFailingWorld(t, store, engine.Config{}, agent.Traits{})
		defer o.stop()
		large := text(strings.Repeat("x", 9<<20))
		store.arm(creates)
		for range 4 {
			o.sendRefused(large)
		}
		if got := engine.Holds(o.Engine); got.Unsettled != 4 {
			t.Errorf("%d tasks are unsettled, want 4", got.Unsettled)
		}
		o.sendRefused(text("one too many"))
		if got := engine.Holds(o.Engine); got.Unsettled != 4 {
			t.Errorf("%d tasks are unsettled, want no more", got.Unsettled)
		}
		store.heal()
		time.Sleep(3 * time.Second)
		synctest.Wait()
		o.send(text("done"))
		o.checkIdle()
	})
}

// unreadableStore is a store in memory that cannot be read for a while after a message.
type unreadableStore struct {
	memstore.Store

	until atomic.Int64 // in milliseconds
}

func (s *unreadableStore) Append(ctx context.Context, c *task.Change) error {
	if followsUp(c) {
		s.until.Store(time.Now().Add(3 * time.Second).UnixMilli())
	}
	return s.Store.Append(ctx, c)
}

func (s *unreadableStore) Read(ctx context.Context, key task.Key, after int64) ([]task.Entry, error) {
	if time.Now().UnixMilli() < s.until.Load() {
		return nil, errSector
	}
	return s.Store.Read(ctx, key, after)
}

// A run for which the store cannot be read waits for the store: its task does not fail.
func TestRunWaitsForAStoreThatCannotBeRead(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		x := &executor{run: func(_ context.Context, ec *a2asrv.ExecutorContext, yield func(a2a.Event, error) bool) {
			yield(status(ec, a2a.TaskStateInputRequired, "about "+ec.Message.Parts[0].Text()+"?"), nil)
		}}
		b := start(t, engine.Config{Store: new(unreadableStore)}, x)
		defer b.stop()
		id := b.send(text("weather")).Head.ID
		if _, err := b.Send(t.Context(), alice, now(reply(id, "Rome"))); err != nil && !errors.Is(err, task.ErrUnavailable) {
			t.Fatal(err) // the message is stored, and cannot be read
		}
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if h, err := b.store.Head(t.Context(), "alice", id); err != nil || h.State == task.Failed {
			t.Error("the task fails while the store cannot be read")
		}
		time.Sleep(3 * time.Second)
		synctest.Wait()
		if h := b.get(id).Head; h.State != task.InputRequired || !strings.Contains(string(h.StatusMessage), "about Rome?") {
			t.Errorf("task is %v with %s, want the next question", h.State, h.StatusMessage)
		}
	})
}

// flickeringStore is a store in memory in which reads of whole logs fail that have a bit in fails, by
// their order.
type flickeringStore struct {
	memstore.Store

	fails int64
	reads atomic.Int64
}

func (s *flickeringStore) Read(ctx context.Context, key task.Key, after int64) ([]task.Entry, error) {
	if after == 0 && s.fails>>(s.reads.Add(1)-1)&1 == 1 {
		return nil, errSector
	}
	return s.Store.Read(ctx, key, after)
}

// The run of a further message waits for each read that it needs.
func TestRunWaitsForEachRead(t *testing.T) {
	t.Parallel()
	for fails := range int64(32) {
		synctest.Test(t, func(t *testing.T) { testFlickering(t, fails) })
	}
}

func testFlickering(t *testing.T, fails int64) {
	store, x := &flickeringStore{fails: fails}, questioner()
	first := start(t, engine.Config{Store: store}, x)
	id := first.send(text("go")).Head.ID
	first.stop()
	b := start(t, engine.Config{Store: store}, x) // it has no events in memory
	defer b.stop()
	for stored := false; !stored; {
		_, err := b.Send(t.Context(), alice, now(reply(id, "blue")))
		if err != nil && !errors.Is(err, task.ErrUnavailable) {
			t.Fatal(err)
		}
		h, err := store.Head(t.Context(), "alice", id)
		if err != nil {
			t.Fatal(err)
		}
		stored = h.LastMessage > 1 // if it is not, the message before it could not be read
	}
	time.Sleep(10 * time.Second)
	synctest.Wait()
	if h, err := store.Head(t.Context(), "alice", id); err != nil || h.State != task.Completed {
		t.Errorf("reads %b fail: the task is %v with %s, %v, want COMPLETED", fails, h.State, h.StatusMessage, err)
	}
}

// secretiveStore is a store in memory that shows no due tasks for a while.
type secretiveStore struct {
	memstore.Store

	fails atomic.Int32
}

func (s *secretiveStore) Due(ctx context.Context, after task.Key, limit int) ([]task.Head, error) {
	if s.fails.Add(-1) >= 0 {
		return nil, errSector
	}
	return s.Store.Due(ctx, after, limit)
}

// An engine whose store cannot be read at the start waits for it, and then recovers.
func TestRecoveryWaitsForAStoreThatCannotBeRead(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := new(secretiveStore)
		store.fails.Store(3)
		e, began := engine.New(engine.Config{Store: store}), time.Now()
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- e.Run(ctx) }()
		select {
		case <-e.Recovered():
		case err := <-done:
			t.Fatalf("the engine has ended: %v", err)
		}
		if time.Since(began) == 0 {
			t.Error("the engine has recovered without its store")
		}
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}
