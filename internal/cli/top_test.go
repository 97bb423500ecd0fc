package cli

import (
	"strings"
	"testing"
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
