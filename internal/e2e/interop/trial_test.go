package interop

import (
	"fmt"
	"runtime"
	"sync"
	"testing"
)

// trial is a test that keeps its failures instead of reporting them, because a failure may be
// accepted. All other calls go to the underlying test.
type trial struct {
	testing.TB

	mu       sync.Mutex // guards the field below
	failures []string
}

// try runs a test and returns its failures.
func try(t testing.TB, run func(testing.TB)) []string {
	t.Helper()
	kept := &trial{TB: t}
	done := make(chan struct{})
	go func() {
		defer close(done)
		run(kept)
	}()
	<-done
	return kept.failures
}

func (t *trial) keep(failure string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.failures = append(t.failures, failure)
}

func (t *trial) Error(args ...any) { t.keep(fmt.Sprint(args...)) }

func (t *trial) Errorf(format string, args ...any) { t.keep(fmt.Sprintf(format, args...)) }

func (t *trial) Fatal(args ...any) {
	t.keep(fmt.Sprint(args...))
	runtime.Goexit()
}

func (t *trial) Fatalf(format string, args ...any) {
	t.keep(fmt.Sprintf(format, args...))
	runtime.Goexit()
}

func (t *trial) Failed() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.failures) > 0
}

func TestTrialKeepsFailures(t *testing.T) {
	t.Parallel()
	got := try(t, func(tb testing.TB) {
		tb.Errorf("one %d", 1)
		if !tb.Failed() {
			t.Error("a trial with a failure has not failed")
		}
		tb.Fatal("two")
		tb.Error("three")
	})
	if want := []string{"one 1", "two"}; fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("failures = %q, want %q", got, want)
	}
	if got := try(t, func(testing.TB) {}); len(got) != 0 {
		t.Errorf("nothing fails with %q", got)
	}
}
