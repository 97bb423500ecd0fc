package sse_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/parley-a2a/parley/internal/sse"
)

// The function is called until it returns false or the owner stops the calls. stop waits for a call in
// progress.
func TestRepeat(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		calls := 0
		stop := sse.Repeat(time.Second, func() bool {
			calls++
			return calls < 2
		})
		time.Sleep(time.Hour)
		synctest.Wait()
		stop()
		stop()
		if calls != 2 {
			t.Errorf("%d calls, want 2", calls)
		}

		over := false
		stop = sse.Repeat(time.Second, func() bool {
			time.Sleep(time.Minute)
			over = true
			return true
		})
		time.Sleep(2 * time.Second)
		synctest.Wait()
		stop()
		if !over {
			t.Error("stop has returned during a call")
		}
		over = false
		time.Sleep(time.Hour)
		synctest.Wait()
		if over {
			t.Error("a call after stop")
		}
	})
}
