package engine

import (
	"testing"
	"testing/synctest"
	"time"
)

// TestOldest checks that the scheduler knows when its oldest ticket began to wait, with serial
// tickets and without.
func TestOldest(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q, serial := newScheduler(1, 1), queueKey{agent: "a"}
		if !q.tryAcquire(serial) || !q.oldest().IsZero() {
			t.Fatalf("an idle scheduler has no place, or a ticket since %v", q.oldest())
		}
		first := time.Now()
		q.wait(ticket{key: serial})
		time.Sleep(time.Second)
		synctest.Wait()
		second := time.Now()
		q.wait(ticket{})
		if got := q.oldest(); !got.Equal(first) {
			t.Errorf("the oldest ticket waits since %v, want %v", got, first)
		}
		if next := q.release(serial); len(next) != 1 || next[0].key.serial() {
			t.Errorf("%d tickets may run, want the one of the line", len(next))
		}
		if got := q.oldest(); !got.Equal(first) {
			t.Errorf("the oldest ticket waits since %v, want %v", got, first)
		}
		if next := q.release(queueKey{}); len(next) != 1 || !q.oldest().IsZero() {
			t.Errorf("%d tickets may run, and one waits since %v (%v)", len(next), q.oldest(), second)
		}
	})
}
