package timer

import (
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// TestAlarmsGoOff wants each alarm to go off at its time, whatever the order of starts and
// whichever alarms are stopped.
func TestAlarmsGoOff(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var s Set
		var mu sync.Mutex
		var got, want []time.Duration
		began := time.Now()
		rng := rand.New(rand.NewPCG(3, 4))
		for i := range 300 {
			d := []time.Duration{time.Second, 3 * time.Second, 500 * time.Millisecond}[rng.IntN(3)]
			var a Alarm
			s.Start(&a, d, func() {
				mu.Lock()
				defer mu.Unlock()
				got = append(got, time.Since(began))
			})
			if i%3 == 0 {
				if !s.Stop(&a) || s.Stop(&a) {
					t.Fatal("Stop of an alarm that waits = false, or true for a second call")
				}
			} else {
				want = append(want, time.Since(began)+d)
			}
			time.Sleep(time.Duration(rng.IntN(50)) * time.Millisecond)
		}
		time.Sleep(10 * time.Second)
		synctest.Wait()
		mu.Lock()
		defer mu.Unlock()
		slices.Sort(want)
		slices.Sort(got)
		if !slices.Equal(got, want) {
			t.Errorf("alarms went off at %v, want %v", got, want)
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		if len(s.queues) != 0 {
			t.Errorf("%d lanes are left when nothing waits", len(s.queues))
		}
	})
}

// TestStopTooLate wants Stop to report that an alarm has gone off, and the alarm to be usable
// again.
func TestStopTooLate(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var s Set
		var a Alarm
		rings := make(chan time.Time, 2)
		for range 2 {
			s.Start(&a, time.Minute, func() { rings <- time.Now() })
			at := time.Now().Add(time.Minute)
			if got := <-rings; !got.Equal(at) {
				t.Errorf("the alarm went off at %v, want %v", got, at)
			}
			if s.Stop(&a) {
				t.Error("Stop of an alarm that has gone off = true")
			}
		}
	})
}

// TestClear wants waiting alarms not to go off, and later ones to go off.
func TestClear(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var s Set
		var a, b Alarm
		s.Start(&a, time.Second, func() { t.Error("an alarm went off that was cleared") })
		s.Clear()
		if s.Stop(&a) || len(s.queues) != 0 {
			t.Errorf("an alarm still waits after Clear, or one of %d timers is left", len(s.queues))
		}
		rang := make(chan struct{})
		s.Start(&b, time.Second, func() { close(rang) })
		at := time.Now()
		<-rang
		if got := time.Since(at); got != time.Second {
			t.Errorf("the alarm after Clear went off after %v, want 1s", got)
		}
	})
}

// TestParallel starts and stops alarms concurrently: each of them is either stopped or goes
// off.
func TestParallel(t *testing.T) {
	t.Parallel()
	var s Set
	var stopped, rang atomic.Int64
	var all, ringing sync.WaitGroup
	const n = 2000
	for g := range 4 {
		all.Go(func() {
			for i := range n {
				var a Alarm
				ringing.Add(1)
				s.Start(&a, time.Duration(g%2+1)*100*time.Microsecond, func() {
					rang.Add(1)
					ringing.Done()
				})
				if i%5 != 0 && s.Stop(&a) {
					stopped.Add(1)
					ringing.Done()
				}
			}
		})
	}
	all.Wait()
	ringing.Wait()
	if got := stopped.Load() + rang.Load(); got != 4*n || rang.Load() < 4*n/5 {
		t.Errorf("%d alarms were stopped and %d rang, want %d in all", stopped.Load(), rang.Load(), 4*n)
	}
}

func BenchmarkStartStop(b *testing.B) {
	var s Set
	b.ReportAllocs()
	var a Alarm
	for b.Loop() {
		s.Start(&a, time.Minute, func() {})
		s.Stop(&a)
	}
}

func BenchmarkAfterFunc(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		time.AfterFunc(time.Minute, func() {}).Stop()
	}
}
