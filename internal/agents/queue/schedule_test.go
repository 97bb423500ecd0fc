package queue

import (
	"testing"
	"time"
)

// TestLeaseOfASuspendedHub: a hub that was suspended when a lease ended extends it once, so that
// it receives the signs of life that the worker has sent meanwhile.
func TestLeaseOfASuspendedHub(t *testing.T) {
	t.Parallel()
	const lease = 30 * time.Second
	end := time.Now()
	var s schedule
	if s.extend(end, end, lease) {
		t.Error("a lease is extended whose end was noticed in time")
	}
	awake := end.Add(50 * time.Millisecond)
	if !s.extend(end, awake, lease) || !s.lease.Equal(awake.Add(10*time.Second)) {
		t.Errorf("after the end was noticed late, the lease ends at %v", s.lease)
	}
	if s.extend(s.lease, s.lease.Add(time.Second), lease) {
		t.Error("a lease is extended twice without a sign of life: on a busy machine no worker would ever be lost")
	}
	r := run{d: new(Dispatcher), schedule: s}
	r.renewLease()
	if !r.schedule.extend(end, awake, lease) {
		t.Error("the lease is not extended again after a sign of life")
	}
}

// TestElapsed: work counts as waiting, too, if the clock was moved back since its publication.
func TestElapsed(t *testing.T) {
	t.Parallel()
	now := time.Now()
	d := &Dispatcher{Reconcile: time.Second}
	for at, want := range map[time.Duration]bool{
		-time.Hour: true, 0: true, time.Second: false, 256 * time.Second: false, 24 * time.Hour: true,
	} {
		if got := d.elapsed(now.Add(at).UnixMilli(), now.UnixMilli()); got != want {
			t.Errorf("elapsed(%v) = %t, want %t", at, got, want)
		}
	}
}
