package engine_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
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

// chunks yields n chunks, then completes; it waits for continueTask before the last half.
func chunks(n int, proceed <-chan struct{}) *executor {
	return &executor{run: func(_ context.Context, ec *a2asrv.ExecutorContext, yield func(a2a.Event, error) bool) {
		for i := range n {
			if i == n/2 && proceed != nil {
				<-proceed
			}
			if !yield(chunk(ec, strconv.Itoa(i), i < n-1), nil) {
				return
			}
		}
		yield(status(ec, a2a.TaskStateCompleted, ""), nil)
	}}
}

// gapless checks that the versions of events follow each other, from after.
func gapless(t testing.TB, after int64, events []engine.Event) {
	t.Helper()
	for i := range events {
		if want := after + int64(i) + 1; events[i].Version != want {
			t.Fatalf("event %d has version %d, want %d", i, events[i].Version, want)
		}
	}
}

func TestStreamShowsEveryEntryOnce(t *testing.T) {
	t.Parallel()
	const n = 5000 // more than a tail holds
	b := start(t, engine.Config{}, chunks(n, nil))
	s, err := b.Stream(t.Context(), alice, text("hi"))
	if err != nil {
		t.Fatal(err)
	}
	if s.First.Head.Version != 1 || s.First.Head.State != task.Submitted {
		t.Errorf("first frame is version %d %v, want the submitted task", s.First.Head.Version, s.First.Head.State)
	}
	events := follow(t, s)
	gapless(t, 1, events)
	if len(events) != n+1 || events[n].State != task.Completed {
		t.Fatalf("%d events, last %v; want %d chunks and COMPLETED", len(events), events[len(events)-1].State, n)
	}
}

func TestReadersAtEveryPositionSeeTheSame(t *testing.T) {
	t.Parallel()
	const n = 600
	proceed := make(chan struct{})
	b := start(t, engine.Config{}, chunks(n, proceed))
	id := b.send(now(text("hi"))).Head.ID
	var wg sync.WaitGroup
	for from := 1; from <= n/2; from += 25 {
		wg.Go(func() {
			s := b.resume(id, strconv.Itoa(from))
			events := follow(t, s)
			if len(events) != n+2-from {
				t.Errorf("from %d: %d events, want %d", from, len(events), n+2-from)
			}
			gapless(t, int64(from), events)
		})
	}
	close(proceed)
	wg.Wait()
}

func (b *bench) resume(id a2a.TaskID, lastEventID string) *engine.Stream {
	for {
		s, err := b.Subscribe(context.Background(), alice, &op.Subscribe{ID: id, LastEventID: lastEventID})
		if err != nil {
			b.t.Errorf("Subscribe(%s, %s): %v", id, lastEventID, err)
			return nil
		}
		if s.First == nil {
			return s
		}
		// The version does not exist yet: wait for the next events and try again.
		_, _ = s.Next(context.Background(), 0)
		s.Close()
	}
}

func TestSubscribe(t *testing.T) {
	t.Parallel()
	b := start(t, engine.Config{}, words("a", "b"))
	id := b.send(text("hi")).Head.ID // versions 1 to 5
	tests := []struct {
		last string
		want int
		done bool
	}{{"1", 4, false}, {"4", 1, false}, {"5", 0, true}}
	for _, tt := range tests {
		s, err := b.Subscribe(t.Context(), alice, &op.Subscribe{ID: id, LastEventID: tt.last})
		if err != nil {
			t.Fatalf("Subscribe after %s: %v", tt.last, err)
		}
		if s.First != nil || s.Done != tt.done {
			t.Errorf("after %s: first %v done %v, want no snapshot and done %v", tt.last, s.First, s.Done, tt.done)
		}
		if events := follow(t, s); len(events) != tt.want {
			t.Errorf("after %s: %d events, want %d", tt.last, len(events), tt.want)
		}
	}
	for _, last := range []string{"", "0", "-1", "6", "x", "99999999999999999999"} {
		if _, err := b.Subscribe(t.Context(), alice, &op.Subscribe{ID: id, LastEventID: last}); !errors.Is(err, a2a.ErrUnsupportedOperation) {
			t.Errorf("Subscribe to an ended task after %q = %v, want ErrUnsupportedOperation", last, err)
		}
	}
}

func TestSubscribeToAnInterruptedTaskStaysOpen(t *testing.T) {
	t.Parallel()
	x := &executor{run: func(_ context.Context, ec *a2asrv.ExecutorContext, yield func(a2a.Event, error) bool) {
		if ec.StoredTask == nil {
			yield(status(ec, a2a.TaskStateInputRequired, "?"), nil)
			return
		}
		yield(status(ec, a2a.TaskStateCompleted, ""), nil)
	}}
	b := start(t, engine.Config{}, x)
	sent, err := b.Stream(t.Context(), alice, text("hi"))
	if err != nil {
		t.Fatal(err)
	}
	if events := follow(t, sent); len(events) != 1 || events[0].State != task.InputRequired {
		t.Fatalf("events = %+v, want the stream of a message to end with its question", events)
	}
	s, err := b.Subscribe(t.Context(), alice, &op.Subscribe{ID: sent.Task.ID})
	if err != nil {
		t.Fatal(err)
	}
	if s.First == nil || s.First.Head.State != task.InputRequired {
		t.Errorf("first = %+v, want the snapshot", s.First)
	}
	b.send(reply(sent.Task.ID, "answer"))
	events := follow(t, s)
	if len(events) != 2 || events[0].Kind != task.Message || events[0].Frame != nil || events[1].State != task.Completed {
		t.Errorf("events = %+v, want the message without a frame, then COMPLETED", events)
	}
}

func TestNextReturnsNothingWhenNothingHappens(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		began := make(chan context.Context, 1)
		b := start(t, engine.Config{Limits: limits.Limits{DrainTimeout: -1}}, untilStopped(began))
		s, err := b.Stream(t.Context(), alice, text("hi"))
		if err != nil {
			t.Fatal(err)
		}
		if events, err := s.Next(t.Context(), time.Minute); len(events) != 1 || err != nil {
			t.Fatalf("Next = %d events, %v; want WORKING", len(events), err)
		}
		before := time.Now()
		if events, err := s.Next(t.Context(), 15*time.Second); len(events) != 0 || err != nil || time.Since(before) != 15*time.Second {
			t.Errorf("Next = %d events, %v after %v; want nothing after 15 s", len(events), err, time.Since(before))
		}
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(io.ErrClosedPipe)
		if _, err := s.Next(ctx, 0); !errors.Is(err, io.ErrClosedPipe) {
			t.Errorf("Next = %v, want the cause of its context", err)
		}
		s.Close()
		s.Close()
		if got := b.get(s.Task.ID); got.Head.State != task.Working {
			t.Errorf("state = %v, want WORKING: a reader that goes away changes nothing", got.Head.State)
		}
		b.stop()
	})
}

func TestASlowReaderHurtsOnlyItself(t *testing.T) {
	t.Parallel()
	const n = 5000
	b := start(t, engine.Config{}, chunks(n, nil))
	slow, err := b.Stream(t.Context(), alice, text("hi"))
	if err != nil {
		t.Fatal(err)
	}
	fast := b.resume(slow.Task.ID, "1")
	if events := follow(t, fast); len(events) != n+1 {
		t.Fatalf("fast reader saw %d events, want %d", len(events), n+1)
	}
	events := follow(t, slow)
	gapless(t, 1, events)
	if len(events) != n+1 {
		t.Errorf("slow reader saw %d events, want %d", len(events), n+1)
	}
}

// snapping reports when it has stored a snapshot.
type snapping struct {
	memstore.Store
	kept chan struct{}
}

func (s *snapping) SaveSnapshot(ctx context.Context, key task.Key, snap task.Snapshot) error {
	defer func() { s.kept <- struct{}{} }()
	return s.Store.SaveSnapshot(ctx, key, snap)
}

func TestGetReadsFromASnapshot(t *testing.T) {
	t.Parallel()
	const n = 2000
	store := &snapping{kept: make(chan struct{}, 3)}
	b := start(t, engine.Config{Store: store}, chunks(n, nil))
	id := b.send(text("hi")).Head.ID
	var want strings.Builder
	for i := range n {
		fmt.Fprint(&want, i)
	}
	for i := range 3 {
		var got strings.Builder
		for _, p := range sdkTask(t, b.get(id)).Artifacts[0].Parts {
			got.WriteString(p.Text())
		}
		if i == 0 {
			<-store.kept
		}
		if got.String() != want.String() {
			t.Fatalf("artifact has %d bytes, want %d", got.Len(), want.Len())
		}
	}
	b.stop()
	h, err := b.store.Head(t.Context(), "alice", id)
	if err != nil {
		t.Fatal(err)
	}
	snap, err := b.store.Snapshot(t.Context(), h.Key)
	if err != nil || snap.Version != n+2 {
		t.Errorf("snapshot = v%d, %v; want one at v%d", snap.Version, err, n+2)
	}
}

func TestListPages(t *testing.T) {
	t.Parallel()
	b := start(t, engine.Config{}, words("x"))
	const n = 23
	for i := range n {
		r := text(strconv.Itoa(i))
		r.Message.ContextID = "c" + strconv.Itoa(i%2)
		b.send(r)
	}
	seen := map[a2a.TaskID]bool{}
	q := &op.List{PageSize: 5, ContextID: "c0", IncludeArtifacts: true}
	for {
		page, err := b.List(t.Context(), alice, q)
		if err != nil || page.TotalSize != 12 {
			t.Fatalf("List = %+v, %v; want 12 in all", page, err)
		}
		for _, a := range page.Tasks {
			if seen[a.Head.ID] || a.Head.ContextID != "c0" || a.Fold == nil || *a.History != 0 {
				t.Errorf("listed %+v again, or not as asked", a)
			}
			seen[a.Head.ID] = true
		}
		if q.PageToken = page.NextPageToken; q.PageToken == "" {
			break
		}
		other := *q
		other.ContextID = "c1"
		if _, err := b.List(t.Context(), alice, &other); !errors.Is(err, a2a.ErrInvalidParams) {
			t.Errorf("List with the token of another list = %v, want ErrInvalidParams", err)
		}
	}
	if len(seen) != 12 {
		t.Errorf("pages show %d tasks, want 12", len(seen))
	}
}

// ahead stores the end of a task some time before it returns.
type ahead struct {
	memstore.Store
	stored, release chan struct{}
}

func (s *ahead) Append(ctx context.Context, c *task.Change) error {
	err := s.Store.Append(ctx, c)
	if c.Next.State.Terminal() {
		close(s.stored)
		<-s.release
	}
	return err
}

// TestStreamsAreNotAhead: a reader that has seen the end of a task in a stream does not find it
// working afterwards, even if the stream reads entries that are stored and not published yet.
func TestStreamsAreNotAhead(t *testing.T) {
	t.Parallel()
	store := &ahead{stored: make(chan struct{}), release: make(chan struct{})}
	began := make(chan struct{}, 1)
	run := func(last bool) a2asrv.AgentExecutor {
		return idempotent(&executor{run: func(ctx context.Context, ec *a2asrv.ExecutorContext, yield func(a2a.Event, error) bool) {
			yield(status(ec, a2a.TaskStateWorking, "at it"), nil)
			if agent.CallFrom(ctx).Flush(ctx) == nil && last {
				yield(status(ec, a2a.TaskStateCompleted, "done"), nil)
				return
			}
			began <- struct{}{}
			<-ctx.Done()
		}})
	}
	b := start(t, engine.Config{Store: store, Limits: limits.Limits{DrainTimeout: -1}}, run(false))
	id := b.send(now(text("hi"))).Head.ID
	<-began
	b.stop()
	// After a restart, earlier entries are only in the store.
	b = start(t, engine.Config{Store: store}, run(true))
	<-store.stored
	s, err := b.Subscribe(t.Context(), alice, &op.Subscribe{ID: id, LastEventID: "1"})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	var seen []engine.Event
	for err == nil {
		var events []engine.Event
		if events, err = s.Next(t.Context(), 100*time.Millisecond); len(events) > 0 {
			seen = append(seen, events...)
		} else if err == nil {
			close(store.release) // the reader has seen all published entries
		}
		if n := len(seen); n > 0 && seen[n-1].State.Terminal() {
			if got := b.get(id).Head.State; got != seen[n-1].State {
				t.Errorf("the stream ends with %v, and the task is %v", seen[n-1].State, got)
			}
		}
	}
	if !errors.Is(err, io.EOF) || !seen[len(seen)-1].State.Terminal() {
		t.Errorf("the stream ends with %v after %d events", err, len(seen))
	}
}
