package queue

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/internal/bus"
	"github.com/parley-a2a/parley/internal/bus/protocol"
	"github.com/parley-a2a/parley/internal/task"
)

// tasks returns the same head for every task.
type tasks struct{ head atomic.Pointer[task.Head] }

func (t *tasks) Head(context.Context, task.Owner, a2a.TaskID) (task.Head, error) {
	return *t.head.Load(), nil
}

// TestReportsWaitForTheirRun sends reports for tasks whose runs will come. At most half of the
// prefetch is parked, so that there is room for reports of other tasks. When the tasks turn out
// to have ended, no report remains.
func TestReportsWaitForTheirRun(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := new(bus.Memory)
		known := new(tasks)
		known.head.Store(&task.Head{State: task.Working, Run: task.Run{Dispatch: task.Claimed}})
		d := &Dispatcher{Bus: b, ID: "h", Tasks: known, Prefetch: 10}
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- d.Run(ctx) }()
		synctest.Wait()
		body, err := protocol.Encode(&protocol.Report{Worker: "w", Error: "x"})
		if err != nil {
			t.Fatal(err)
		}
		for i := range 8 {
			e := &bus.Envelope{ID: fmt.Sprint(i), Type: protocol.TypeReport, Source: "worker/w", Task: fmt.Sprint(i), Seq: 1, Body: body}
			if err := b.Publish(ctx, protocol.ReportAt("h"), e); err != nil {
				t.Fatal(err)
			}
		}
		synctest.Wait()
		d.mu.Lock()
		if d.count != 5 || len(d.parked) != 5 {
			t.Errorf("%d reports wait, want 5", d.count)
		}
		d.mu.Unlock()
		known.head.Store(&task.Head{State: task.Completed})
		time.Sleep(time.Minute)
		synctest.Wait()
		if depth, err := b.Depth(ctx, protocol.ReportAt("h")); err != nil || depth.Ready+depth.Held != 0 {
			t.Errorf("%+v are left: %v", depth, err)
		}
		stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}
