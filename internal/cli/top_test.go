package cli

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/internal/adminjson"
)

// TestFrameFits: a frame is not longer than the terminal, and its beginning stays on the screen.
func TestFrameFits(t *testing.T) {
	t.Parallel()
	text, end := strings.Repeat("agent\n", 30), "\nno answer\n"
	for lines, want := range map[int]int{0: 32, 24: 23, 12: 11, 33: 32, 32: 31, 3: 32} {
		o := &OS{Lines: func() int { return lines }}
		got := o.fit(text, end)
		if n := strings.Count(got, "\n"); n != want || !strings.HasPrefix(got, "agent\n") || !strings.HasSuffix(got, end) {
			t.Errorf("on %d lines the frame has %d, want %d: %q", lines, n, want, got)
		}
	}
	if got := (&OS{}).fit(text, ""); got != text {
		t.Errorf("without a terminal the frame is %q", got)
	}
	if got, want := (&OS{Lines: func() int { return 4 }}).fit("a\nb\nc\nd\n", ""), "a\nb\n… and 2 lines that do not fit\n"; got != want {
		t.Errorf("the frame is %q, want %q", got, want)
	}
}

// Tasks that are held up come first, the oldest of them at the top.
func TestHeldFirst(t *testing.T) {
	t.Parallel()
	at := func(id string, created, changed int64, code string) adminjson.TaskInfo {
		return adminjson.TaskInfo{
			TaskID: a2a.TaskID(id), CreatedAt: time.Unix(created, 0), ChangedAt: time.Unix(changed, 0), Waiting: &adminjson.Waiting{Code: code},
		}
	}
	got := heldFirst(
		[]adminjson.TaskInfo{at("runs", 5, 9, adminjson.Runs), at("young", 6, 8, adminjson.WaitsForWorker), at("ran", 1, 7, adminjson.Runs)},
		[]adminjson.TaskInfo{at("young", 6, 8, adminjson.WaitsForWorker), at("old", 2, 2, adminjson.WaitsForResume)},
	)
	var ids []a2a.TaskID
	for i := range got {
		ids = append(ids, got[i].TaskID)
	}
	if want := []a2a.TaskID{"old", "young", "runs", "ran"}; !slices.Equal(ids, want) {
		t.Errorf("the order is %v, want %v", ids, want)
	}
}
