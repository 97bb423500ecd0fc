package tasktest

import (
	"errors"
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"golang.org/x/sync/errgroup"

	"github.com/parley-a2a/parley/internal/task"
)

// testRace lets many goroutines change one task from the same head. Each round has one winner.
func testRace(t *testing.T, s task.Store) {
	const rounds, racers = 20, 8
	h := Append(t, s, NewHead("anna", "t1"), Created(At(0), "hello"))
	for range rounds {
		var winner atomic.Pointer[task.Change]
		var g errgroup.Group
		for i := range racers {
			c := Step(t, h, Chunk(At(1), "a", fmt.Sprint(i)), Status(At(1), task.Working, ""))
			g.Go(func() error {
				err := s.Append(t.Context(), c)
				if errors.Is(err, task.ErrConflict) {
					return nil
				}
				if err == nil && !winner.CompareAndSwap(nil, c) {
					return fmt.Errorf("two changes of rev %d were stored", h.Rev)
				}
				return err
			})
		}
		if err := g.Wait(); err != nil {
			t.Fatal(err)
		}
		if winner.Load() == nil {
			t.Fatal("no change won")
		}
		h = winner.Load().Next
		wantHead(t, s, h)
	}
	all := Log(t, s, h.Key)
	if len(all) != 1+2*rounds {
		t.Fatalf("the log has %d entries, want %d", len(all), 1+2*rounds)
	}
	for i := range all {
		if all[i].Version != int64(i)+1 {
			t.Fatalf("entry %d has version %d", i, all[i].Version)
		}
	}
}

// testParallel writes many tasks concurrently while readers read them.
func testParallel(t *testing.T, s task.Store) {
	const writers, tasks, chunks = 8, 5, 20
	var g, readers errgroup.Group
	done := make(chan struct{})
	for range 2 {
		readers.Go(func() error { return watch(t, s, done) })
	}
	for w := range writers {
		g.Go(func() error { return write(t, s, w, tasks, chunks) })
	}
	if err := g.Wait(); err != nil {
		t.Error(err)
	}
	close(done)
	if err := readers.Wait(); err != nil {
		t.Error(err)
	}
	for _, h := range listAll(t, s, task.Query{Owner: "anna", Limit: 7}) {
		if got := len(Log(t, s, h.Key)); h.State != task.Completed || got != chunks+2 {
			t.Errorf("%s is %v with %d entries, want %d", h.ID, h.State, got, chunks+2)
		}
	}
	page, err := s.List(t.Context(), &task.Query{Owner: "anna", State: task.Completed, Limit: 1})
	if err != nil || page.Total != writers*tasks {
		t.Errorf("Total = %d, %v, want %d", page.Total, err, writers*tasks)
	}
}

// write takes tasks through their lives, one after the other.
func write(t *testing.T, s task.Store, writer, tasks, chunks int) error {
	for i := range tasks {
		h := NewHead("anna", a2a.TaskID(fmt.Sprint(writer, "-", i)))
		es := []task.Entry{Created(At(0), "hello")}
		for n := range chunks {
			es = append(es, Chunk(At(int64(n)), "a", "text"))
		}
		es = append(es, Status(At(99), task.Completed, "done"))
		for len(es) > 0 {
			n := min(len(es), 1+len(es)%3)
			c, err := Try(h, es[:n]...)
			if err != nil {
				return err
			}
			if err := s.Append(t.Context(), c); err != nil {
				return err
			}
			h, es = c.Next, es[n:]
		}
	}
	return nil
}

// watch lists and reads until done: a head must never refer to entries that are not stored.
func watch(t *testing.T, s task.Store, done <-chan struct{}) error {
	for {
		select {
		case <-done:
			return nil
		default:
		}
		page, err := s.List(t.Context(), &task.Query{Owner: "anna", Limit: 10})
		if err != nil {
			return err
		}
		for _, h := range page.Heads {
			es, err := s.Read(t.Context(), h.Key, h.Version-1)
			if err != nil {
				return err
			}
			if len(es) == 0 || es[0].Version != h.Version {
				return fmt.Errorf("head of %s is at version %d, which cannot be read", h.ID, h.Version)
			}
		}
	}
}
