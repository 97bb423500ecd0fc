package queue_test

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/parley-a2a/parley/internal/bus/protocol"
	"github.com/parley-a2a/parley/internal/store/memstore"
	"github.com/parley-a2a/parley/internal/task"
)

// counted is a store that counts appends.
type counted struct {
	*memstore.Store

	appends atomic.Int32
}

func (s *counted) Append(ctx context.Context, c *task.Change) error {
	s.appends.Add(1)
	return s.Store.Append(ctx, c)
}

// WORKING of an idempotent worker shares an append with its first event, if that comes soon. If
// it does not, callers get WORKING before.
func TestWorkingWaitsForTheFirstEvent(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		idempotent bool
		think      time.Duration
		want       int32
		state      task.State // before the first event
	}{
		"soon":         {true, time.Millisecond, 1, task.Submitted},
		"late":         {true, time.Second, 2, task.Working},
		"at most once": {false, time.Millisecond, 2, task.Working},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				store := &counted{Store: new(memstore.Store)}
				h := startHub(t, nil)
				h.store = store
				h.restart()
				p := h.startManualWorker()
				id := h.send(returnImmediately(newSend("hi"))).Head.ID
				j, before := p.take(), store.appends.Load()
				j.granted(tt.idempotent)
				time.Sleep(tt.think)
				synctest.Wait()
				if got := h.get(id).Head.State; got != tt.state {
					t.Errorf("before the words the task is %v, want %v", got, tt.state)
				}
				j.report(1, word("a"), completed)
				p.receives(protocol.TypeConfirm, 2)
				var states []task.State
				for _, ev := range h.events(id, task.Completed) {
					if ev.Kind == task.Status {
						states = append(states, ev.State)
					}
				}
				if diff := cmp.Diff([]task.State{task.Working, task.Completed}, states); diff != "" {
					t.Errorf("states mismatch (-want +got):\n%s", diff)
				}
				if n := store.appends.Load() - before; n != tt.want {
					t.Errorf("%d appends, want %d", n, tt.want)
				}
			})
		})
	}
}

// The delayed event is sent before the task fails, or is given to another worker.
func TestWorkingBeforeTheEnd(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h, p := startManual(t)
		id := h.send(returnImmediately(newSend("hi"))).Head.ID
		j := p.take().granted(true)
		j.send(protocol.ReportAt("h"), protocol.TypeReport, 1, &protocol.Report{Token: j.token, Worker: j.id, GivenBack: true})
		next := p.take()
		p.receives(protocol.TypeDeny, 0)
		next.granted(true).report(1, completed)
		h.wait(id, task.Completed)
		n := 0
		for _, ev := range h.events(id, task.Completed) {
			if ev.Kind == task.Status && ev.State == task.Working {
				n++
			}
		}
		if n != 1 {
			t.Errorf("the task was WORKING %d times, want once", n)
		}
	})
}
