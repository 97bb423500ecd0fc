package pulse_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/parley-a2a/parley/internal/sse/pulse"
)

func TestPulse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := 0
		p := pulse.Start(time.Second, func() bool { n++; return true })
		time.Sleep(3500 * time.Millisecond)
		synctest.Wait()
		p.Stop()
		p.Stop()
		time.Sleep(time.Hour)
		synctest.Wait()
		if n != 3 {
			t.Errorf("%d calls in 3.5 s and after Stop, want 3", n)
		}
	})
}

// The function ends the calls itself.
func TestEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := 0
		p := pulse.Start(time.Second, func() bool { n++; return n < 2 })
		time.Sleep(time.Hour)
		synctest.Wait()
		p.Stop()
		if n != 2 {
			t.Errorf("%d calls, want 2", n)
		}
	})
}

// Stop waits for a call in progress.
func TestStopWaits(t *testing.T) {
	t.Parallel()
	began, release, over := make(chan struct{}), make(chan struct{}), false
	p := pulse.Start(time.Millisecond, func() bool {
		close(began)
		<-release
		over = true
		return false
	})
	<-began
	go close(release)
	p.Stop()
	if !over {
		t.Error("Stop has returned during a call")
	}
}
