package engine_test

import (
	"cmp"
	"context"
	"errors"
	"runtime"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2asrv"

	"github.com/parley-a2a/parley/agent"
	"github.com/parley-a2a/parley/internal/engine"
	"github.com/parley-a2a/parley/internal/limits"
	"github.com/parley-a2a/parley/internal/op"
	"github.com/parley-a2a/parley/internal/store/memstore"
	"github.com/parley-a2a/parley/internal/task"
)

// hubs are engines on one store. Each follows the changes of the others.
type hubs struct {
	memstore.Store

	mu   sync.Mutex // guards the fields below
	all  map[task.Holder]*bench
	lost []task.Holder
	// silent is set while hints are lost.
	silent bool
	// tasksPerCaller and drainTimeout are those of hubs that join.
	tasksPerCaller int
	drainTimeout   time.Duration
	// behind is called once, after the next head was read; ahead before each read of a log; before once, before
	// the next change is stored.
	behind, ahead, before func()
	work                  sync.WaitGroup
}

// Head calls behind after it has read the head.
func (h *hubs) Head(ctx context.Context, owner task.Owner, id a2a.TaskID) (task.Head, error) {
	head, err := h.Store.Head(ctx, owner, id)
	h.mu.Lock()
	behind := h.behind
	h.behind = nil
	h.mu.Unlock()
	if behind != nil {
		behind()
	}
	return head, err
}

// Read calls ahead.
func (h *hubs) Read(ctx context.Context, key task.Key, after int64) ([]task.Entry, error) {
	h.mu.Lock()
	ahead := h.ahead
	h.mu.Unlock()
	if ahead != nil {
		ahead()
	}
	return h.Store.Read(ctx, key, after)
}

// Append calls before, and passes a hint to all hubs.
func (h *hubs) Append(ctx context.Context, c *task.Change) error {
	h.mu.Lock()
	before := h.before
	h.before = nil
	h.mu.Unlock()
	if before != nil {
		before()
	}
	err := h.Store.Append(ctx, c)
	if err != nil {
		return err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	keys, cancels := []task.Key{c.Next.Key}, c.Next.CancelAt != c.Prev.CancelAt // c is reused
	for _, b := range h.all {
		if h.silent {
			continue
		}
		h.work.Go(func() {
			b.Follow(context.Background(), keys)
			if cancels {
				_ = b.Attend(context.Background(), keys)
			}
		})
	}
	return nil
}

// Revs implements engine.Heads.
func (h *hubs) Revs(ctx context.Context, keys []task.Key) (map[task.Key]int64, error) {
	page, err := h.List(ctx, &task.Query{AllOwners: true, Limit: 1000})
	revs := make(map[task.Key]int64)
	for i := range page.Heads {
		if k := page.Heads[i].Key; slices.Contains(keys, k) {
			revs[k] = page.Heads[i].Rev
		}
	}
	return revs, err
}

// AtWork implements engine.Heads.
func (h *hubs) AtWork(ctx context.Context, owner task.Owner, own task.Holder, limit int) (n int, err error) {
	page, err := h.List(ctx, &task.Query{Owner: owner, Limit: 1000})
	for i := range page.Heads {
		if r := &page.Heads[i]; r.Run.Dispatch != task.Idle && r.Run.Holder != own && !r.State.Terminal() && n < limit {
			n++
		}
	}
	return n, err
}

// view is what one hub knows of the others.
type view struct {
	*hubs

	own task.Holder
}

func (v view) Live(holder task.Holder) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	if holder == "" {
		return len(v.all)-len(v.lost) > 1
	}
	return v.all[holder] != nil && !slices.Contains(v.lost, holder)
}

func (v view) Takes(task.Key) bool { return true }
func (v view) Does(string) bool    { return true }

// lose makes a hub a lost one.
func (h *hubs) lose(holder task.Holder) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.lost = append(h.lost, holder)
}

// join starts a hub.
func (h *hubs) join(t *testing.T, holder task.Holder, x a2asrv.AgentExecutor) *bench {
	t.Helper()
	h.mu.Lock()
	first := h.all == nil
	if first {
		h.all = make(map[task.Holder]*bench)
	}
	h.mu.Unlock()
	if first {
		t.Cleanup(h.work.Wait) // after all hubs have stopped, which notify each other until then
	}
	b := start(t, engine.Config{
		Store: h, Holder: holder, Peers: view{h, holder}, Limits: limits.Limits{DrainTimeout: cmp.Or(h.drainTimeout, -1), TasksPerCaller: h.tasksPerCaller}, Idempotency: engine.Idempotency{Header: true},
	}, x)
	h.mu.Lock()
	defer h.mu.Unlock()
	h.all[holder] = b
	return b
}

// questioner asks a question, and then repeats the answer.
func questioner() *executor {
	return &executor{run: func(_ context.Context, ec *a2asrv.ExecutorContext, yield func(a2a.Event, error) bool) {
		if ec.StoredTask == nil {
			yield(status(ec, a2a.TaskStateInputRequired, "colour?"), nil)
			return
		}
		yield(status(ec, a2a.TaskStateCompleted, ec.Message.Parts[0].Text()), nil)
	}}
}

// stepwise works with one chunk for each value of steps, and ends when it is closed.
func stepwise(steps <-chan string) *executor {
	return &executor{run: func(ctx context.Context, ec *a2asrv.ExecutorContext, yield func(a2a.Event, error) bool) {
		if !yield(status(ec, a2a.TaskStateWorking, ""), nil) {
			return
		}
		for {
			select {
			case s, ok := <-steps:
				if !ok {
					yield(status(ec, a2a.TaskStateCompleted, "done"), nil)
					return
				}
				if !yield(chunk(ec, s, true), nil) {
					return
				}
			case <-ctx.Done():
				return
			}
		}
	}}
}

// A hub that stores more between another hub's reads of a head and of a log changes nothing for a
// reader there: it sees each event once.
func TestFollowBehindTheHead(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h, steps := &hubs{silent: true}, make(chan string)
		a := h.join(t, "a", stepwise(steps))
		b := h.join(t, "b", words("not here"))
		defer a.stop()
		defer b.stop()
		id := a.send(now(text("go"))).Head.ID
		s, err := b.Subscribe(t.Context(), alice, &op.Subscribe{ID: id, LastEventID: "1"})
		if err != nil {
			t.Fatal(err)
		}
		work := func() {
			steps <- "x"
			time.Sleep(time.Second)
		}
		work()
		h.mu.Lock()
		h.behind = work
		h.mu.Unlock()
		for range 3 {
			if err := b.FollowAll(t.Context()); err != nil {
				t.Fatal(err)
			}
			work()
		}
		close(steps)
		time.Sleep(time.Second)
		synctest.Wait()
		if err := b.FollowAll(t.Context()); err != nil {
			t.Fatal(err)
		}
		last := int64(1)
		for _, ev := range follow(t, s) {
			if last++; ev.Version != last {
				t.Fatalf("event %d after %d", ev.Version, last-1)
			}
		}
		if h := b.get(id).Head; h.State != task.Completed || h.Version != last {
			t.Errorf("the task is %v at version %d, the last event has %d", h.State, h.Version, last)
		}
	})
}

// A caller that waits for the read of an earlier one gets the changes that were stored before its own call.
func TestReadsSideBySide(t *testing.T) {
	t.Parallel()
	h, steps := &hubs{silent: true}, make(chan string)
	a := h.join(t, "a", stepwise(steps))
	b := h.join(t, "b", words("not here"))
	id := a.send(now(text("go"))).Head.ID
	a.wait(id, task.Working)
	second := make(chan task.State, 1)
	h.mu.Lock()
	h.behind = func() { // the first caller has read that the task works
		close(steps)
		a.wait(id, task.Completed)
		go func() { second <- b.get(id).Head.State }()
		for range 1000 {
			runtime.Gosched() // the second caller comes to wait for the first one
		}
	}
	h.mu.Unlock()
	b.get(id)
	if got := <-second; got != task.Completed {
		t.Errorf("the second caller got %v, want COMPLETED", got)
	}
}

// A reader at another hub sees each event of a task once, in order.
func TestFollowElsewhere(t *testing.T) {
	t.Parallel()
	h, steps := new(hubs), make(chan string)
	a := h.join(t, "a", stepwise(steps))
	b := h.join(t, "b", words("not here"))
	id := a.send(now(text("go"))).Head.ID
	s, err := b.Subscribe(t.Context(), alice, &op.Subscribe{ID: id, LastEventID: "1"})
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	wg.Go(func() {
		for range 20 {
			steps <- "x"
		}
		close(steps)
	})
	last := int64(1)
	for _, ev := range follow(t, s) {
		if last++; ev.Version != last {
			t.Fatalf("event %d after %d", ev.Version, last-1)
		}
	}
	wg.Wait()
	if got := b.get(id).Head; got.Version != last || got.State != task.Completed {
		t.Errorf("the reader ended at v%d, the task is %v at v%d", last, got.State, got.Version)
	}
}

// A hub whose hints are lost finds the changes when it compares all revisions.
func TestLostHints(t *testing.T) {
	t.Parallel()
	h, steps := new(hubs), make(chan string)
	a := h.join(t, "a", stepwise(steps))
	b := h.join(t, "b", words("not here"))
	id := a.send(now(text("go"))).Head.ID
	s, err := b.Subscribe(t.Context(), alice, &op.Subscribe{ID: id, LastEventID: "1"})
	if err != nil {
		t.Fatal(err)
	}
	h.mu.Lock()
	h.silent = true
	h.mu.Unlock()
	close(steps)
	a.wait(id, task.Completed)
	if err := b.FollowAll(t.Context()); err != nil {
		t.Fatal(err)
	}
	if all := follow(t, s); len(all) == 0 || all[len(all)-1].State != task.Completed {
		t.Errorf("events = %v, want COMPLETED at the end", all)
	}
}

// A question is answered at another hub, which then runs the task; a blocking call there returns
// with the end.
func TestAnswerElsewhere(t *testing.T) {
	t.Parallel()
	h := new(hubs)
	a, b := h.join(t, "a", questioner()), h.join(t, "b", questioner())
	asked := a.send(text("paint"))
	if asked.Head.State != task.InputRequired {
		t.Fatalf("state = %v", asked.Head.State)
	}
	if got := b.send(reply(asked.Head.ID, "red")); got.Head.State != task.Completed || statusText(t, got) != "red" {
		t.Errorf("answer = %v %q", got.Head.State, statusText(t, got))
	}
	if got := a.get(asked.Head.ID); got.Head.State != task.Completed {
		t.Errorf("state at the first hub = %v", got.Head.State)
	}
}

// A message for a task that another hub runs is read by that hub's run, and a blocking call
// returns with its outcome.
func TestMessageElsewhere(t *testing.T) {
	t.Parallel()
	h, began, proceed := new(hubs), make(chan bool, 1), make(chan bool)
	x := &executor{run: func(_ context.Context, ec *a2asrv.ExecutorContext, yield func(a2a.Event, error) bool) {
		if ec.Message.ID == "m-first" {
			if yield(status(ec, a2a.TaskStateWorking, ""), nil) {
				began <- true
				<-proceed
				yield(status(ec, a2a.TaskStateInputRequired, "more?"), nil)
			}
			return
		}
		yield(status(ec, a2a.TaskStateCompleted, ec.Message.Parts[0].Text()), nil)
	}}
	a, b := h.join(t, "a", x), h.join(t, "b", words("not here"))
	id := a.send(now(text("first"))).Head.ID
	<-began
	done := make(chan *engine.Answer)
	go func() {
		got, err := b.Send(t.Context(), alice, reply(id, "second"))
		if err != nil {
			t.Errorf("Send: %v", err)
		}
		done <- got
	}()
	s, err := a.Subscribe(t.Context(), alice, &op.Subscribe{ID: id, LastEventID: "1"})
	if err != nil {
		t.Fatal(err)
	}
	for stored := false; !stored; { // the second message
		events, err := s.Next(t.Context(), 0)
		if err != nil {
			t.Fatal(err)
		}
		stored = slices.ContainsFunc(events, func(e engine.Event) bool { return e.Kind == task.Message })
	}
	s.Close()
	close(proceed)
	if got := <-done; got != nil && (got.Head.State != task.Completed || statusText(t, got) != "second") {
		t.Errorf("answer = %v %q", got.Head.State, statusText(t, got))
	}
}

// A caller at another hub gets the status of the run that read its message, and not the one before,
// no matter when its hub learns that the run has begun.
func TestReadElsewhere(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		stream, early bool
	}{"call": {false, true}, "call, late": {false, false}, "stream": {true, true}, "stream, late": {true, false}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) { testReadElsewhere(t, c.stream, c.early) })
		})
	}
}

func testReadElsewhere(t *testing.T, stream, early bool) {
	h, ask := &hubs{silent: true}, make(chan string)
	x := &executor{run: func(_ context.Context, ec *a2asrv.ExecutorContext, yield func(a2a.Event, error) bool) {
		if ec.Message.ID != "m-first" || yield(status(ec, a2a.TaskStateWorking, ""), nil) {
			yield(status(ec, a2a.TaskStateInputRequired, <-ask), nil)
		}
	}}
	a, b := h.join(t, "a", x), h.join(t, "b", words("not here"))
	head := a.send(now(text("first"))).Head
	hint := func(b *bench) {
		synctest.Wait()
		b.Follow(t.Context(), []task.Key{head.Key})
		synctest.Wait()
	}
	got := make(chan []string, 1)
	if stream {
		s, err := b.Stream(t.Context(), alice, reply(head.ID, "second"))
		if err != nil {
			t.Fatal(err)
		}
		go func() { got <- questions(follow(t, s)) }()
	} else {
		go func() { got <- []string{statusText(t, b.send(reply(head.ID, "second")))} }()
	}
	hint(a)
	ask <- "one?" // the run of the first message ends, and that of the second begins
	if early {
		hint(b)
	}
	ask <- "two?"
	hint(b)
	wantLast(t, got, "two?")
}

// wantLast wants the questions that a caller has got, without waiting, to end with the given one.
func wantLast(t *testing.T, got <-chan []string, question string) {
	t.Helper()
	select {
	case q := <-got:
		if n := len(q); n == 0 || q[n-1] != question {
			t.Errorf("the caller got %q, want %s at the end", q, question)
		}
	default:
		t.Error("the caller still waits")
	}
}

// A caller at another hub does not get an answer while its hub has read only a part of the events that the run
// has stored: a newer status with the head before it.
func TestHalfReadElsewhere(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h, ask, work := &hubs{silent: true}, make(chan string), make(chan bool)
		x := &executor{run: func(_ context.Context, ec *a2asrv.ExecutorContext, yield func(a2a.Event, error) bool) {
			if ec.Message.ID != "m-first" {
				<-work
				yield(status(ec, a2a.TaskStateWorking, ""), nil)
				for range 2000 { // more than a page of the log
					yield(chunk(ec, "x", true), nil)
				}
			}
			yield(status(ec, a2a.TaskStateInputRequired, <-ask), nil)
		}}
		a, b := h.join(t, "a", x), h.join(t, "b", words("not here"))
		head := a.send(now(text("first"))).Head
		got := make(chan []string, 1)
		go func() { got <- []string{statusText(t, b.send(reply(head.ID, "second")))} }()
		synctest.Wait()
		a.Follow(t.Context(), []task.Key{head.Key})
		ask <- "one?"
		synctest.Wait()
		b.Follow(t.Context(), []task.Key{head.Key})
		work <- true
		time.Sleep(time.Minute) // the run has stored all but its question
		synctest.Wait()
		reads, proceed := make(chan bool, 10), make(chan bool)
		h.mu.Lock()
		h.ahead = func() {
			if reads <- true; len(reads) > 1 {
				<-proceed
			}
		}
		h.mu.Unlock()
		var followed sync.WaitGroup
		followed.Go(func() { b.Follow(t.Context(), []task.Key{head.Key}) })
		synctest.Wait()
		if len(reads) != 2 {
			t.Errorf("the hub has begun %d reads of the log, want 2", len(reads))
		}
		if len(got) > 0 {
			t.Errorf("the caller got %q", <-got)
		}
		h.mu.Lock()
		h.ahead = nil
		h.mu.Unlock()
		close(proceed)
		followed.Wait()
		ask <- "two?"
		synctest.Wait()
		b.Follow(t.Context(), []task.Key{head.Key})
		synctest.Wait()
		wantLast(t, got, "two?")
	})
}

// A hint that comes while a hub opens the task for the first time is not lost.
func TestHintWhileATaskIsOpened(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h, began := &hubs{silent: true}, make(chan context.Context, 1)
		a, b := h.join(t, "a", untilStopped(began)), h.join(t, "b", words("not here"))
		head := a.send(now(text("go"))).Head
		<-began
		h.mu.Lock()
		h.behind = func() {
			if _, err := a.cancelTask(head.ID); err != nil {
				t.Error(err)
			}
			b.Follow(t.Context(), []task.Key{head.Key})
		}
		h.mu.Unlock()
		s, err := b.Subscribe(t.Context(), alice, &op.Subscribe{ID: head.ID})
		if errors.Is(err, a2a.ErrUnsupportedOperation) {
			return // the task has ended
		}
		if err != nil {
			t.Fatal(err)
		}
		ended := make(chan []engine.Event, 1)
		go func() { ended <- follow(t, s) }()
		synctest.Wait()
		if len(ended) == 0 {
			t.Error("the stream at the other hub does not end")
			b.Follow(t.Context(), []task.Key{head.Key})
		}
	})
}

// questions returns the texts of the statuses that wait for the caller.
func questions(events []engine.Event) []string {
	var all []string
	for i := range events {
		if events[i].State == task.InputRequired {
			all = append(all, task.TextOf(events[i].Body))
		}
	}
	return all
}

// A cancel request at one hub reaches the agent at the hub that runs the task.
func TestCancelElsewhere(t *testing.T) {
	t.Parallel()
	h, began, asked := new(hubs), make(chan context.Context, 1), make(chan bool, 1)
	x := untilStopped(began)
	x.cancel = func(_ context.Context, ec *a2asrv.ExecutorContext, yield func(a2a.Event, error) bool) {
		asked <- true
		yield(status(ec, a2a.TaskStateCanceled, "as you wish"), nil)
	}
	a, b := h.join(t, "a", x), h.join(t, "b", words("not here"))
	id := a.send(now(text("go"))).Head.ID
	ctx := <-began
	got, err := b.Cancel(t.Context(), alice, &op.Cancel{ID: id})
	if err != nil || got.Head.State != task.Canceled || statusText(t, got) != "as you wish" {
		t.Fatalf("Cancel = %+v, %v", got, err)
	}
	if len(asked) != 1 {
		t.Error("the agent got no request")
	}
	<-ctx.Done()
}

// A hub that notices a cancel request only when its own change conflicts carries it out.
func TestCancelAtConflict(t *testing.T) {
	t.Parallel()
	h, began, proceed := new(hubs), make(chan bool, 1), make(chan bool)
	release := sync.OnceFunc(func() { close(proceed) })
	defer release() // also after a failure
	x := &executor{run: func(ctx context.Context, ec *a2asrv.ExecutorContext, yield func(a2a.Event, error) bool) {
		_ = yield(status(ec, a2a.TaskStateWorking, ""), nil)
		_ = agent.CallFrom(ctx).Flush(ctx)
		began <- true
		<-proceed
		yield(chunk(ec, "late", true), nil)
		<-ctx.Done()
	}}
	a, b := h.join(t, "a", x), h.join(t, "b", words("not here"))
	id := a.send(now(text("go"))).Head.ID
	<-began
	h.mu.Lock()
	h.silent = true
	h.mu.Unlock()
	h.work.Wait() // earlier hints
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		_, err := b.Cancel(ctx, alice, &op.Cancel{ID: id})
		done <- err
	}()
	for b.get(id).Head.CancelAt == 0 {
		select {
		case err := <-done:
			t.Fatalf("Cancel returned before it stored its request: %v", err)
		default:
			runtime.Gosched()
		}
	}
	release()
	a.wait(id, task.Canceled)
	cancel()
	<-done
}

// Two hubs try to cancel one task at the same time. The hub that runs it stores its request second, and still cancels it.
func TestCancelAtTwoHubs(t *testing.T) {
	t.Parallel()
	h, began := new(hubs), make(chan context.Context, 1)
	a, b := h.join(t, "a", untilStopped(began)), h.join(t, "b", words("not here"))
	id := a.send(now(text("go"))).Head.ID
	ctx := <-began
	h.work.Wait()
	done := make(chan error, 1)
	h.mu.Lock()
	h.before = func() {
		go func() {
			_, err := b.cancelTask(id)
			done <- err
		}()
		for b.get(id).Head.CancelAt == 0 {
			runtime.Gosched()
		}
	}
	h.mu.Unlock()
	if got, err := a.cancelTask(id); err != nil || got.Head.State != task.Canceled {
		t.Errorf("Cancel = %+v, %v", got, err)
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
	<-ctx.Done()
}

// A task rests at one hub, which does not have it in memory. A cancel request at another hub reaches it by a hint, or
// by a look at all open tasks if the hint is lost.
func TestCancelRestingElsewhere(t *testing.T) {
	t.Parallel()
	for name, silent := range map[string]bool{"Hint": false, "LostHint": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				h := new(hubs)
				x := agent.With(resting(nil, make(chan *agent.Call, 1)), mayRest)
				a, b := h.join(t, "a", x), h.join(t, "b", x)
				id := a.send(now(text("go"))).Head.ID
				synctest.Wait()
				h.mu.Lock()
				h.silent = silent
				h.mu.Unlock()
				done := make(chan error, 1)
				go func() {
					_, err := b.cancelTask(id)
					done <- err
				}()
				synctest.Wait()
				if silent {
					if err := a.TakeOver(t.Context(), true); err != nil {
						t.Error(err)
					}
					synctest.Wait()
					b.Follow(t.Context(), []task.Key{b.get(id).Head.Key})
				}
				if err := <-done; err != nil {
					t.Error(err)
				}
				if got := b.get(id).Head.State; got != task.Canceled {
					t.Errorf("the task is %v", got)
				}
			})
		})
	}
}

// The tasks of a lost hub are continued by their rules. The lost hub stores nothing for them, and
// its runs end.
func TestTakeOver(t *testing.T) {
	t.Parallel()
	h, began := new(hubs), make(chan context.Context, 2)
	a := h.join(t, "a", idempotent(untilStopped(began)))
	a.register("fragile", untilStopped(began))
	b := h.join(t, "b", idempotent(words("again")))
	b.register("fragile", words("never"))
	repeated := a.send(now(text("repeat"))).Head.ID
	r := now(text("fail"))
	r.Target.Agent = "fragile"
	failed := a.send(r).Head.ID
	runs := []context.Context{<-began, <-began}
	if err := b.TakeOver(t.Context(), true); err != nil {
		t.Fatal(err)
	}
	if got := b.get(failed).Head; !got.State.Open() {
		t.Errorf("a task of a hub that is not lost is %v", got.State)
	}
	h.lose("a")
	if err := b.TakeOver(t.Context(), false); err != nil {
		t.Fatal(err)
	}
	if got := b.wait(repeated, task.Completed); got.Run.Attempt != 2 && got.Run.Epoch != 2 {
		t.Errorf("run = %+v, want the second one", got.Run)
	}
	if got := b.get(failed); got.Head.State != task.Failed || statusText(t, got) != "interrupted by restart" {
		t.Errorf("task = %v %q", got.Head.State, statusText(t, got))
	}
	for _, ctx := range runs {
		<-ctx.Done()
	}
	if got := a.get(repeated).Head; got.State != task.Completed {
		t.Errorf("the lost hub shows %v", got.State)
	}
}

// A suspended hub ends its runs, begins none, and leaves its claims to the others; then it
// continues as another holder, and takes back the remaining tasks.
func TestSuspend(t *testing.T) {
	t.Parallel()
	h, began := new(hubs), make(chan context.Context, 2)
	a := h.join(t, "a", idempotent(untilStopped(began)))
	id := a.send(now(text("go"))).Head.ID
	ctx := <-began
	a.Suspend()
	<-ctx.Done()
	if got := a.get(id).Head; !got.State.Open() || got.Run.Holder != "a" || got.Run.Dispatch != task.Claimed {
		t.Errorf("head = %+v, want the claim", got.Run)
	}
	h.lose("a")
	h.mu.Lock()
	h.all["a2"] = a
	h.mu.Unlock()
	a.Continue("a2")
	if err := a.TakeOver(t.Context(), true); err != nil {
		t.Fatal(err)
	}
	select {
	case <-began:
	case <-time.After(time.Minute):
		t.Fatal("the run was not repeated")
	}
	if got := a.get(id).Head; got.Run.Holder != "a2" {
		t.Errorf("holder = %q, want a2", got.Run.Holder)
	}
}

// Of two hubs that get messages with one key at the same time, one stores it.
func TestKeyElsewhere(t *testing.T) {
	t.Parallel()
	h := new(hubs)
	both := []*bench{h.join(t, "a", words("one")), h.join(t, "b", words("one"))}
	for n := range 20 {
		ids := make([]a2a.TaskID, 2)
		var wg sync.WaitGroup
		for i, b := range both {
			wg.Go(func() {
				r := text("same")
				r.Key = string(rune('a' + n))
				ids[i] = b.send(r).Head.ID
			})
		}
		wg.Wait()
		if ids[0] != ids[1] {
			t.Fatalf("two tasks for one key: %v", ids)
		}
	}
}

// A task whose agent only another hub has is left to that hub.
func TestAgentElsewhere(t *testing.T) {
	t.Parallel()
	h, began := new(hubs), make(chan context.Context, 1)
	a, b := h.join(t, "a", words("x")), h.join(t, "b", words("x"))
	c := h.join(t, "c", words("x"))
	_ = c
	a.register("rare", agent.With(untilStopped(began), agent.Traits{AfterCrash: agent.Repeat}))
	r := now(text("go"))
	r.Target.Agent = "rare"
	id := a.send(r).Head.ID
	<-began
	h.lose("a")
	if err := b.TakeOver(t.Context(), true); err != nil {
		t.Fatal(err)
	}
	if got := b.get(id).Head; !got.State.Open() {
		t.Errorf("state = %v, want open", got.State)
	}
	h.lose("c")
	if err := b.TakeOver(t.Context(), true); err != nil {
		t.Fatal(err)
	}
	if got := b.get(id).Head; got.State != task.Failed {
		t.Errorf("state at the last hub = %v, want FAILED", got.State)
	}
}

// A task that is stored with its answer is read at another hub. A hub whose lease ends before its task is
// stored leaves the message to the others.
func TestAnswerAtOnceElsewhere(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := new(hubs)
		suspend := false
		answer := func(by string) a2asrv.AgentExecutor {
			return pure(func(_ context.Context, ec *a2asrv.ExecutorContext, yield func(a2a.Event, error) bool) {
				if suspend {
					suspend = false
					h.all["a"].Suspend()
					h.lose("a")
				}
				yield(status(ec, a2a.TaskStateCompleted, by), nil)
			})
		}
		a, b := h.join(t, "a", answer("a")), h.join(t, "b", answer("b"))
		defer a.stop()
		defer b.stop()
		id := a.send(text("hello")).Head.ID
		if got := b.get(id).Head; got.State != task.Completed || got.Rev != 1 {
			t.Errorf("the task is %v at revision %d, want COMPLETED with one change", got.State, got.Rev)
		}
		suspend = true
		var wg sync.WaitGroup
		var second *engine.Answer
		wg.Go(func() { second = a.send(text("again")) })
		synctest.Wait()
		if err := b.TakeOver(t.Context(), true); err != nil {
			t.Fatal(err)
		}
		wg.Wait()
		if got := sdkTask(t, second); got.Status.State != a2a.TaskStateCompleted || got.Status.Message.Parts[0].Text() != "b" {
			t.Errorf("the task of the suspended hub ends with %+v, want the answer of hub b", got.Status)
		}
	})
}
