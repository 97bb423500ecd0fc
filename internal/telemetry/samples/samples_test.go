package samples_test

import (
	"context"
	"math"
	"sync"
	"testing"
	"testing/synctest"
	"time"
	"unsafe"

	"github.com/parley-a2a/parley/internal/telemetry/samples"
)

// The memory of a ring is fixed and small.
func TestMemory(t *testing.T) {
	if got, most := unsafe.Sizeof(samples.Ring{}), uintptr(48<<10); got > most {
		t.Errorf("a ring has %d bytes, want at most %d", got, most)
	}
	r := new(samples.Ring)
	if n := testing.AllocsPerRun(100, func() { r.Ended(time.Second, true); r.Stored(time.Millisecond) }); n != 0 {
		t.Errorf("counting allocates %v times, want 0", n)
	}
}

// run runs a ring in a bubble until stop is called.
func run(t *testing.T, r *samples.Ring) (stop func()) {
	ctx, cancel := context.WithCancel(t.Context())
	var work sync.WaitGroup
	work.Go(func() {
		if err := r.Run(ctx); err != nil {
			t.Errorf("Run() = %v", err)
		}
	})
	synctest.Wait()
	return func() { cancel(); work.Wait() }
}

func TestValues(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &samples.Ring{Read: func(_ context.Context, v *samples.Values) { v.Set(samples.Queued, 7) }}
		defer run(t, r)()
		for i := range 100 {
			r.Ended(100*time.Millisecond, i < 10)
		}
		r.Ended(time.Minute, false)
		r.Ended(time.Minute, false)
		r.Stored(4 * time.Millisecond)
		time.Sleep(samples.Step)
		synctest.Wait()
		r.Ended(time.Hour, false)
		time.Sleep(samples.Step)
		synctest.Wait()
		all := r.After(0)
		if len(all) != 2 {
			t.Fatalf("%d samples after two steps, want 2", len(all))
		}
		for s, want := range map[samples.Series]float64{
			samples.Ended: 10.2, samples.Failed: 1, samples.LatencyP50: .1, samples.LatencyP99: 60, samples.StoreP99: .004, samples.Queued: 7,
		} {
			if got := float64(all[0].Values[s]); math.Abs(got-want) > want/11 {
				t.Errorf("series %d = %v, want about %v", s, got, want)
			}
		}
		second := all[1].Values
		if second[samples.Failed] != 0 || math.Abs(float64(second[samples.LatencyP50])-3600) > 360 {
			t.Errorf("the second sample has %v failures and %v s, want only the task of its own step", second[samples.Failed], second[samples.LatencyP50])
		}
		if !math.IsNaN(float64(second[samples.StoreP50])) || !math.IsNaN(float64(second[samples.Hubs])) {
			t.Errorf("values without a measurement = %v, %v, want unknown ones", second[samples.StoreP50], second[samples.Hubs])
		}
		if after := r.After(all[0].At); len(after) != 1 || after[0].At != all[1].At {
			t.Errorf("After(the first) = %d samples, want the second alone", len(after))
		}
	})
}

// After more than an hour the oldest samples are dropped, and the order stays.
func TestHour(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := 0
		r := &samples.Ring{Read: func(_ context.Context, v *samples.Values) { n++; v.Set(samples.Runs, n) }}
		defer run(t, r)()
		time.Sleep((samples.Kept + 25) * samples.Step)
		synctest.Wait()
		all := r.After(0)
		if len(all) != samples.Kept {
			t.Fatalf("%d samples, want %d", len(all), samples.Kept)
		}
		for i, s := range all {
			if want := float32(26 + i); s.Values[samples.Runs] != want {
				t.Fatalf("sample %d has the value %v, want %v", i, s.Values[samples.Runs], want)
			}
		}
	})
}
