package events_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/internal/events"
	"github.com/parley-a2a/parley/internal/store/memstore"
	"github.com/parley-a2a/parley/internal/task"
)

// counting counts the reads of the timeline that found something.
type counting struct {
	*memstore.Store
	reads atomic.Int64
}

func (c *counting) Timeline(ctx context.Context, after int64, limit int) (task.TimelinePage, error) {
	page, err := c.Store.Timeline(ctx, after, limit)
	if len(page.Moments) > 0 && limit > 1 {
		c.reads.Add(1)
	}
	return page, err
}

// Readers at the end of the timeline share their reads: twenty read no more often than one.
func TestReadersShareReads(t *testing.T) {
	t.Parallel()
	reads := func(t *testing.T, readers int) (n int64) {
		synctest.Test(t, func(t *testing.T) {
			s := &counting{Store: new(memstore.Store)}
			r, _ := start(t, s)
			watched := r.Watched(s)
			synctest.Wait()
			s.reads.Store(0)
			var work sync.WaitGroup
			got := make([]int, readers)
			for i := range got {
				work.Go(func() {
					for e, err := range watch(t, r, events.Query{Filter: events.Filter{Types: []string{"task"}}}) {
						if err != nil {
							t.Errorf("Watch = %v", err)
						} else if e.Type != "" && e.Type != events.StreamEnd {
							got[i]++
						}
					}
				})
			}
			synctest.Wait()
			for i := range 10 {
				lifeOf(t, watched, "anna", a2a.TaskID(fmt.Sprint("t", i)))
				time.Sleep(time.Second)
				synctest.Wait()
			}
			r.EndReaders()
			work.Wait()
			for i, n := range got {
				if n != 40 {
					t.Errorf("reader %d got %d events, want 40", i, n)
				}
			}
			n = s.reads.Load()
		})
		return n
	}
	one, many := reads(t, 1), reads(t, 20)
	if many > 2*one {
		t.Errorf("twenty readers have read the timeline %d times, one %d times", many, one)
	}
}
