package engine_test

import (
	"context"
	"fmt"
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
	"github.com/parley-a2a/parley/internal/store/memstore"
	"github.com/parley-a2a/parley/internal/task"
)

// TestSerialOrderOverRestarts sends six messages to one context, and restarts the engine during each run.
// An answer to an interrupted task has its place among the messages, not that of its task.
func TestSerialOrderOverRestarts(t *testing.T) {
	t.Parallel()
	for name, traits := range map[string]agent.Traits{
		"repeated": {Serial: true, AfterCrash: agent.Repeat}, "resumed": {Serial: true, AfterCrash: agent.Resume},
		"elsewhere": {Serial: true, Away: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var order []string
				x := &executor{run: func(ctx context.Context, ec *a2asrv.ExecutorContext, yield func(a2a.Event, error) bool) {
					text := ec.Message.Parts[0].Text()
					if text == "ask" {
						yield(status(ec, a2a.TaskStateInputRequired, "?"), nil)
						return
					}
					if !slices.Contains(order, text) {
						order = append(order, text)
					}
					select {
					case <-time.After(time.Second):
						yield(status(ec, a2a.TaskStateCompleted, ""), nil)
					case <-ctx.Done():
					}
				}}
				cfg := engine.Config{Store: new(memstore.Store), Limits: limits.Limits{DrainTimeout: -1, MaxRuns: 1, MaxAway: 1}}
				b := start(t, cfg, agent.With(x, traits))
				in := func(s string) a2a.TaskID {
					r := now(text(s))
					r.Message.ContextID = "one"
					return b.send(r).Head.ID
				}
				asked := in("ask")
				time.Sleep(100 * time.Millisecond)
				synctest.Wait()
				want := []string{"0", "1", "2", "answer", "3", "4", "5"}
				for _, s := range want {
					if s == "answer" {
						b.send(now(reply(asked, s)))
						continue
					}
					in(s)
				}
				for range want { // each run is interrupted, and most are in the next process
					time.Sleep(600 * time.Millisecond)
					synctest.Wait()
					b.stop()
					b = start(t, cfg, agent.With(x, traits))
					time.Sleep(1100 * time.Millisecond)
					synctest.Wait()
				}
				time.Sleep(10 * time.Second)
				synctest.Wait()
				b.stop()
				if !slices.Equal(order, want) {
					t.Errorf("the order is %v, want %v", order, want)
				}
			})
		})
	}
}

// hurried is a store that makes another change of a task right before one that fails its condition: what
// another hub, or another call, may store.
type hurried struct {
	memstore.Store

	mu     sync.Mutex // guards before
	before func(*task.Change) *task.Change
}

// hurry sets the function that returns the other change; nil if it makes none before c.
func (s *hurried) hurry(before func(c *task.Change) *task.Change) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.before = before
}

// other returns the other change, once.
func (s *hurried) other(c *task.Change) (other *task.Change) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.before == nil {
		return nil
	}
	if other = s.before(c); other != nil {
		s.before = nil
	}
	return other
}

func (s *hurried) Append(ctx context.Context, c *task.Change) error {
	if other := s.other(c); other != nil {
		if err := s.Store.Append(ctx, other); err != nil {
			return fmt.Errorf("the other change: %w", err)
		}
	}
	return s.Store.Append(ctx, c)
}

// TestRecoveryDecidesInItsChange: while a hub recovers a task, the output of its run becomes durable. The
// run is not repeated.
func TestRecoveryDecidesInItsChange(t *testing.T) {
	t.Parallel()
	store, began := new(hurried), make(chan context.Context, 1)
	id := stopped(t, store, idempotent(untilStopped(began)), began)
	store.hurry(func(c *task.Change) *task.Change {
		other := &task.Change{Prev: c.Prev, Next: c.Prev}
		other.Next.Rev++
		other.Next.Run.Disclosed = true
		return other
	})
	b := start(t, engine.Config{Store: store}, idempotent(words("x")))
	if h := b.wait(id, task.Failed); h.Run.Epoch != 1 {
		t.Errorf("the task has run %d, want the interrupted one", h.Run.Epoch)
	}
}

// TestAnswerComesBeforeTheSweep: a task is answered while the hub fails it as abandoned.
func TestAnswerComesBeforeTheSweep(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := new(hurried)
		b := start(t, engine.Config{Store: store, Limits: limits.Limits{IdleRetention: time.Hour}}, &executor{
			run: func(_ context.Context, ec *a2asrv.ExecutorContext, yield func(a2a.Event, error) bool) {
				yield(status(ec, a2a.TaskStateInputRequired, "?"), nil)
			},
		})
		id := b.send(text("hi")).Head.ID
		time.Sleep(time.Hour)
		synctest.Wait()
		store.hurry(func(c *task.Change) *task.Change {
			if c.Next.State != task.Failed {
				return nil
			}
			other := &task.Change{Prev: c.Prev, Next: c.Prev}
			other.Next.Rev++
			other.Next.Run.Holder, other.Next.Run.Dispatch, other.Next.Run.Epoch = "hub:other", task.Claimed, 2
			return other
		})
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		if h := b.get(id).Head; h.State == task.Failed {
			t.Errorf("the task is failed as abandoned, and has run %d", h.Run.Epoch)
		}
		b.stop()
	})
}

// blinking is a store that does not find a request once, as if it were stored right after.
type blinking struct {
	memstore.Store

	blink bool
}

func (s *blinking) Request(ctx context.Context, owner task.Owner, name task.Agent, key string) (task.Requested, error) {
	if s.blink {
		s.blink = false
		return task.Requested{}, task.ErrNotFound
	}
	return s.Store.Request(ctx, owner, name, key)
}

// TestRepeatedAnswerMeetsTheFirst: an answer is sent again while the first one is stored and ends the task.
func TestRepeatedAnswerMeetsTheFirst(t *testing.T) {
	t.Parallel()
	store := new(blinking)
	b := start(t, engine.Config{Store: store, Idempotency: engine.Idempotency{Header: true}}, &executor{
		run: func(_ context.Context, ec *a2asrv.ExecutorContext, yield func(a2a.Event, error) bool) {
			if ec.StoredTask == nil {
				yield(status(ec, a2a.TaskStateInputRequired, "?"), nil)
				return
			}
			yield(status(ec, a2a.TaskStateCompleted, ""), nil)
		},
	})
	id := b.send(text("hi")).Head.ID
	answer := reply(id, "yes")
	answer.Key = "k"
	b.send(answer)
	b.wait(id, task.Completed)
	store.blink = true
	if got := b.send(answer); got.Head.ID != id || got.Head.State != task.Completed {
		t.Errorf("the answer that was sent again is answered with %v %v", got.Head.ID, got.Head.State)
	}
}
