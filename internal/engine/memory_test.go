package engine_test

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/parley-a2a/parley/internal/engine"
	"github.com/parley-a2a/parley/internal/membudget"
	"github.com/parley-a2a/parley/internal/op"
	"github.com/parley-a2a/parley/internal/store/memstore"
	"github.com/parley-a2a/parley/internal/task"
)

// The run of a large message waits for memory, however long, and releases it; that of a small one
// does not wait. Its task is shown meanwhile.
func TestRunsOfLargeMessagesWait(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := &membudget.Budget{Max: 1 << 20, Stall: time.Hour}
		h := start(t, engine.Config{Memory: b}, words("done"))
		all, err := b.Acquire(t.Context(), 1<<20)
		if err != nil {
			t.Fatal(err)
		}
		r := text(strings.Repeat("x", 100<<10))
		r.ReturnImmediately = true
		id := h.send(r).Head.ID
		time.Sleep(50 * time.Minute)
		synctest.Wait()
		if a := h.get(id); a.Head.State.Terminal() {
			t.Errorf("the run of a large message did not wait: %v", a.Head.State)
		}
		if a := h.send(text("small")); !a.Head.State.Terminal() {
			t.Errorf("a small message beside it is %v", a.Head.State)
		}
		all.Release()
		synctest.Wait()
		time.Sleep(time.Second)
		synctest.Wait()
		a := h.get(id)
		if !a.Head.State.Terminal() {
			t.Errorf("with memory the task is %v", a.Head.State)
		}
		a.Release()
		if s := b.Stats(); s.Used != 0 {
			t.Errorf("%d bytes are used afterwards", s.Used)
		}
	})
}

// A task that waits for memory can be canceled.
func TestCancelWhileTheRunWaits(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := &membudget.Budget{Max: 1 << 20, Stall: time.Hour}
		h := start(t, engine.Config{Memory: b}, words("done"))
		all, err := b.Acquire(t.Context(), 1<<20)
		if err != nil {
			t.Fatal(err)
		}
		r := text(strings.Repeat("x", 100<<10))
		r.ReturnImmediately = true
		id := h.send(r).Head.ID
		a, err := h.cancelTask(id)
		if err != nil || a.Head.State != task.Canceled {
			t.Errorf("Cancel = %v, %v", a, err)
		}
		all.Release()
		synctest.Wait()
		if s := b.Stats(); s.Used != 0 || s.Waiting != 0 {
			t.Errorf("Stats = %+v, want none used or waiting", s)
		}
	})
}

// The answer with a large task needs memory until it is released; the answer with a small one
// does not.
func TestLargeAnswersNeedMemory(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := &membudget.Budget{Max: 64 << 20, Stall: time.Hour}
		h := start(t, engine.Config{Memory: b}, words("done"))
		sent := h.send(text(strings.Repeat("x", 3<<20)))
		sent.Release()
		id := sent.Head.ID
		synctest.Wait()
		a := h.get(id)
		if s := b.Stats(); s.Used < 6<<20 {
			t.Errorf("%d bytes are used for an answer of 3 MiB", s.Used)
		}
		a.Release()
		all, err := b.Acquire(t.Context(), 64<<20)
		if err != nil {
			t.Fatal(err)
		}
		waiting := make(chan struct{})
		go func() {
			h.get(id)
			close(waiting)
		}()
		synctest.Wait()
		select {
		case <-waiting:
			t.Error("a large answer did not wait for memory")
		default:
		}
		h.get(h.send(text("small")).Head.ID)
		all.Release()
		<-waiting
	})
}

// An operation that has read a larger answer keeps the memory for it.
func TestLaterAnswersOfAnOperation(t *testing.T) {
	t.Parallel()
	b := &membudget.Budget{Max: 64 << 20}
	h := start(t, engine.Config{Memory: b}, words("done"))
	sent := h.send(text(strings.Repeat("x", 3<<20)))
	sent.Release()
	for _, before := range []int64{0, 40 << 20, 60 << 20} {
		a := &membudget.Account{Budget: &membudget.Budget{Max: 64 << 20}, Factor: 3}
		if err := a.Acquire(t.Context(), before); err != nil {
			t.Fatal(err)
		}
		got, err := h.Get(a.Context(t.Context()), alice, &op.Get{ID: sent.Head.ID})
		if err != nil {
			t.Fatal(err)
		}
		got.Release()
		want := max(before, (2+a.Factor)*int64(got.Size))
		if held := a.Held(); held < want || held > want+64<<10 {
			t.Errorf("after an answer of %d bytes an operation with %d bytes holds %d, want %d", got.Size, before, held, want)
		}
		a.Release()
	}
}

// A page of a list ends after some MiB, and those that follow have the rest. A large page needs memory
// until its call ends; a page of heads does not.
func TestLargePagesNeedMemory(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := &membudget.Budget{Max: 64 << 20, Stall: time.Hour}
		h := start(t, engine.Config{Memory: b}, words("done"))
		const n = 20
		for range n {
			h.send(text(strings.Repeat("x", 1<<20))).Release()
		}
		list := func(r op.List) *op.Page {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			r.PageSize = 100
			p, err := h.List(ctx, alice, &r)
			if err != nil {
				t.Fatal(err)
			}
			return p
		}
		if p := list(op.List{}); len(p.Tasks) != n || p.NextPageToken != "" {
			t.Errorf("a page of heads has %d tasks, want all %d", len(p.Tasks), n)
		}
		history, seen := 10, 0
		for token, pages := "", 0; pages == 0 || token != ""; pages++ {
			p := list(op.List{HistoryLength: &history, PageToken: token})
			if len(p.Tasks) == 0 || len(p.Tasks) > 9 {
				t.Fatalf("a page has %d tasks of 1 MiB, want at most 9", len(p.Tasks))
			}
			seen, token = seen+len(p.Tasks), p.NextPageToken
		}
		if seen != n {
			t.Errorf("all pages have %d tasks, want %d", seen, n)
		}
		all, err := b.AcquireLong(t.Context(), membudget.Request, 64<<20) // when all pages have released theirs
		if err != nil {
			t.Fatal(err)
		}
		done := make(chan struct{})
		go func() {
			list(op.List{HistoryLength: &history})
			close(done)
		}()
		synctest.Wait()
		select {
		case <-done:
			t.Error("a large page did not wait for memory")
		default:
		}
		list(op.List{})
		all.Release()
		<-done
	})
}

// slowLog is a store whose reads of a log wait behind a version.
type slowLog struct {
	task.Store
	behind  atomic.Int64 // zero for none
	waiting chan chan struct{}
	entries atomic.Int64 // that were read
}

func (s *slowLog) Read(ctx context.Context, key task.Key, after int64) ([]task.Entry, error) {
	if behind := s.behind.Load(); behind > 0 && after >= behind {
		proceed := make(chan struct{})
		s.waiting <- proceed
		<-proceed
	}
	page, err := s.Store.Read(ctx, key, after)
	s.entries.Add(int64(len(page)))
	return page, err
}

// A hub with little memory reads a huge log once, after the first page: what it has read for nothing is
// memory as well.
func TestHugeLogsAreReadOnce(t *testing.T) {
	t.Parallel()
	texts := make([]string, 60)
	for i := range texts {
		texts[i] = strings.Repeat("x", 1<<20)
	}
	s := &slowLog{Store: new(memstore.Store)}
	h := start(t, engine.Config{Memory: &membudget.Budget{Max: 32 << 20}, Store: s}, words(texts...))
	sent := h.send(text("go"))
	sent.Release()
	s.entries.Store(0)
	if got := h.get(sent.Head.ID); got.Size < 60<<20 {
		t.Errorf("the answer has %d bytes, want 60 MiB", got.Size)
	}
	if n, all := s.entries.Load(), sent.Head.Version; n > all+all/2 {
		t.Errorf("%d entries were read of a log of %d", n, all)
	}
}

// The size of a log is known once it was read, so that one huge log is read at a time. The next one waits
// for the memory that the first answer occupies.
func TestHugeLogsAreReadOneAtATime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := &membudget.Budget{Max: 120 << 20, Stall: time.Hour}
		chunk := strings.Repeat("x", 1<<20)
		texts := make([]string, 64) // 64 MiB
		for i := range texts {
			texts[i] = chunk
		}
		s := &slowLog{Store: new(memstore.Store), waiting: make(chan chan struct{}, 8)}
		h := start(t, engine.Config{Memory: b, Store: s}, words(texts...))
		sent := h.send(text("go"))
		sent.Release()
		id := sent.Head.ID
		synctest.Wait()
		if snap, err := s.Snapshot(t.Context(), sent.Head.Key); snap.Version != 0 || err != nil {
			t.Errorf("a huge task has a snapshot of version %d, %v; want none", snap.Version, err)
		}
		s.behind.Store(56)
		answers := make(chan *engine.Answer, 2)
		for range 2 {
			go func() { answers <- h.get(id) }()
		}
		synctest.Wait()
		if n := len(s.waiting); n != 1 {
			t.Errorf("%d huge logs are read at one time, want one", n)
		}
		go func() {
			for proceed := range s.waiting {
				close(proceed)
			}
		}()
		synctest.Wait()
		if n := len(answers); n != 1 {
			t.Errorf("%d answers are in memory, want one", n)
		}
		first := <-answers
		if first.Size < 64<<20 || first.Size > 65<<20 {
			t.Errorf("the answer has %d bytes, want 64 MiB", first.Size)
		}
		first.Release()
		(<-answers).Release()
		close(s.waiting)
		if s := b.Stats(); s.Used != 0 {
			t.Errorf("%d bytes are used afterwards", s.Used)
		}
	})
}
