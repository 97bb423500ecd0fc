package engine_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/parley-a2a/parley/internal/engine"
	"github.com/parley-a2a/parley/internal/membudget"
	"github.com/parley-a2a/parley/task"
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
		if a := h.get(id); a.Head.State.Terminal() {
			t.Errorf("the run of a large message did not wait: %v", a.Head.State)
		}
		if a := h.send(text("small")); !a.Head.State.Terminal() {
			t.Errorf("a small message beside it is %v", a.Head.State)
		}
		all.Release()
		synctest.Wait()
		time.Sleep(time.Second)
		if a := h.get(id); !a.Head.State.Terminal() {
			t.Errorf("with memory the task is %v", a.Head.State)
		}
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
