package engine_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"pgregory.net/rapid"

	"github.com/parley-a2a/parley/agent"
	"github.com/parley-a2a/parley/internal/engine"
	"github.com/parley-a2a/parley/internal/limits"
	"github.com/parley-a2a/parley/internal/op"
	"github.com/parley-a2a/parley/internal/task"
)

// action is one step of callers or of the store.
type action struct {
	What string
	// Task is the index of the task concerned, among the known ones.
	Task int
	Word string
	// Hook, Wait, Keep and Stay are the settings of a message, and of a failing store.
	Hook, Wait, Keep, Stay bool
	// N is the number of the write that fails, counted from now.
	N int
}

func drawAction(t *rapid.T) action {
	d := action{
		What: rapid.SampledFrom([]string{"new", "new", "reply", "reply", "reply", "cancel", "put", "drop", "fail", "fail", "heal", "sleep", "sleep"}).Draw(t, "what"),
		Word: rapid.SampledFrom([]string{"ask", "slow ask", "auth", "slow auth", "slow", "done"}).Draw(t, "word"),
		Task: rapid.IntRange(0, 3).Draw(t, "task"),
		N:    rapid.IntRange(0, 3).Draw(t, "n"),
	}
	for _, b := range []*bool{&d.Hook, &d.Wait, &d.Keep, &d.Stay} {
		*b = rapid.Bool().Draw(t, "flag")
	}
	return d
}

// sequence is a sequence of actions on one engine.
type sequence struct {
	*failingWorld
	ids   []a2a.TaskID
	calls sync.WaitGroup
	// open is the number of calls that have not returned.
	mu   sync.Mutex
	open int
}

func (s *sequence) id(n int) (a2a.TaskID, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.ids) == 0 {
		return "", false
	}
	return s.ids[n%len(s.ids)], true
}

// call makes a call concurrently with the others; a refusal is allowed.
func (s *sequence) call(f func(ctx context.Context)) {
	s.mu.Lock()
	s.open++
	s.mu.Unlock()
	s.calls.Go(func() {
		f(s.t.Context())
		s.mu.Lock()
		s.open--
		s.mu.Unlock()
	})
	synctest.Wait()
}

func (s *sequence) send(r *op.Send, d action) {
	r.ReturnImmediately = !d.Wait
	if d.Hook {
		r = withPush(r, d.Word)
	}
	s.call(func(ctx context.Context) {
		a, err := s.Send(ctx, alice, r)
		if err != nil {
			return
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		s.ids = append(s.ids, a.Head.ID)
	})
}

// do performs an action in the bubble of the test.
func (s *sequence) do(d action) {
	id, known := s.id(d.Task)
	switch {
	case d.What == "new":
		s.send(text(d.Word), d)
	case d.What == "sleep":
		time.Sleep(time.Duration(d.N) * 700 * time.Millisecond)
		synctest.Wait()
	case d.What == "heal":
		s.store.heal()
	case d.What == "fail":
		s.store.failAt(d)
	case !known:
	case d.What == "reply":
		s.send(reply(id, d.Word), d)
	case d.What == "cancel":
		s.call(func(ctx context.Context) { _, _ = s.Cancel(ctx, alice, &op.Cancel{ID: id}) })
	case d.What == "put":
		s.call(func(ctx context.Context) { _, _ = s.CreatePush(ctx, alice, config(id, d.Word)) })
	case d.What == "drop":
		s.call(func(ctx context.Context) {
			_ = s.DeletePush(ctx, alice, &op.PushRef{TaskID: id, ID: d.Word})
		})
	}
}

// failAt makes the write number d.N fail.
func (s *failingStore) failAt(d action) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.keep, s.stay = d.Keep, d.Stay
	s.hooks = d.Hook
	n := d.N
	s.match = func(*task.Change) bool {
		n--
		return n < 0
	}
}

// TestReconciliationProperty lets a store fail at any point of a sequence of calls. When it works
// again, no work is left over, every call has returned, no message was executed twice, the
// pusher knows all webhooks, and readers see the stored log.
func TestReconciliationProperty(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		actions := rapid.SliceOfN(rapid.Custom(drawAction), 1, 25).Draw(rt, "deeds")
		runs := rapid.IntRange(1, 3).Draw(rt, "runs")
		serial := rapid.Bool().Draw(rt, "serial")
		synctest.Test(t, func(t *testing.T) {
			s := &sequence{failingWorld: newFailingWorld(t, new(failingStore), engine.Config{Limits: limits.Limits{MaxRuns: runs}}, agent.Traits{Serial: serial})}
			for _, d := range actions {
				s.do(d)
			}
			s.store.heal()
			time.Sleep(2 * time.Minute)
			synctest.Wait()
			s.check()
			s.stop()
			s.calls.Wait()
		})
		if t.Failed() {
			rt.Fatalf("%d runs, serial %v:\n%s", runs, serial, script(actions))
		}
	})
}

func script(actions []action) string {
	var b strings.Builder
	for _, d := range actions {
		fmt.Fprintf(&b, "%+v\n", d)
	}
	return b.String()
}

func (s *sequence) check() {
	s.mu.Lock()
	if s.open > 0 {
		s.t.Errorf("%d calls have not returned", s.open)
	}
	s.mu.Unlock()
	s.checkIdle()
	for _, h := range s.heads() {
		s.readable(&h)
	}
}

// readable checks that a reader sees the whole log.
func (s *sequence) readable(h *task.Head) {
	page, err := s.store.Read(s.t.Context(), h.Key, 0)
	if err != nil || int64(len(page)) != h.Version {
		s.t.Fatalf("log of task %s has %d entries (%v), want %d", h.ID, len(page), err, h.Version)
	}
	r, err := s.Subscribe(s.t.Context(), alice, &op.Subscribe{ID: h.ID, LastEventID: "1"})
	if err != nil {
		s.t.Fatalf("Subscribe: %v", err)
	}
	defer r.Close()
	for seen := int64(1); seen < h.Version; {
		events, err := r.Next(s.t.Context(), time.Second)
		if err != nil || len(events) == 0 {
			s.t.Errorf("reader of task %s sees v%d of %d: %v", h.ID, seen, h.Version, err)
			return
		}
		for _, ev := range events {
			if seen++; ev.Version != seen || string(ev.Body) != string(page[seen-1].Body) {
				s.t.Errorf("reader of task %s sees v%d as v%d", h.ID, seen, ev.Version)
			}
		}
	}
}
