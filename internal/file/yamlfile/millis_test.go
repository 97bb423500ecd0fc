package yamlfile_test

import (
	"math"
	"testing"
	"time"

	"github.com/parley-a2a/parley/internal/file/yamlfile"
)

func TestMillisDoNotOverflow(t *testing.T) {
	t.Parallel()
	const century = 100 * 365 * 24 * time.Hour
	for n, want := range map[int]time.Duration{
		0: 0, 1500: 1500 * time.Millisecond, 18446744073710: century, math.MaxInt: century,
	} {
		if got := yamlfile.Millis(n); got != want {
			t.Errorf("Millis(%d) = %v, want %v", n, got, want)
		}
	}
}
