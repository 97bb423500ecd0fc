package task_test

import (
	"testing"
	"time"

	"github.com/parley-a2a/parley/internal/task"
)

func TestMillis(t *testing.T) {
	t.Parallel()
	if got := task.MillisOf(time.Time{}); got != 0 {
		t.Errorf("MillisOf(never) = %d, want 0", got)
	}
	if got := task.Millis(0).Time(); !got.IsZero() {
		t.Errorf("Millis(0).Time() = %v, want never", got)
	}
	in := time.Date(2026, 3, 12, 10, 5, 0, 999_999_999, time.FixedZone("", 3600))
	got := task.MillisOf(in).Time()
	if want := time.Date(2026, 3, 12, 9, 5, 0, 999_000_000, time.UTC); !got.Equal(want) || got.Location() != time.UTC {
		t.Errorf("MillisOf(%v).Time() = %v, want %v", in, got, want)
	}
}
