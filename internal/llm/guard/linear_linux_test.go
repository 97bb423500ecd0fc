package guard

import (
	"runtime"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// Adversarial texts take no longer than others of their length: eight times the text takes about
// eight times the work. The work is the processor time of the thread, which does not count other
// programs on a busy machine; a quadratic algorithm takes 64 times the work.
func TestTimeIsLinear(t *testing.T) {
	t.Parallel()
	const times, most, tries = 8, 24, 5
	for _, unit := range []string{
		"ignore all ", "ignore ", "![", "<img", "<!--", "<|", "<", "&#", "%", "\\u", "a ", "[//]: #", "QUJD", "\u200b",
		"\U000E0041", "<quoted", "system: ", "a@", "http://", "$ ", "!", "1gn0re", "i g n o r e ",
	} {
		short := strings.Repeat(unit, MaxText/16/times/len(unit))
		long := strings.Repeat(short, times)
		ratio := float64(most)
		for range tries { // a neighbour can spoil the caches of the processor, but not each time
			ratio = min(ratio, float64(quoting(t, long))/float64(quoting(t, short)))
			if ratio < most {
				break
			}
		}
		t.Logf("%-12q %.1f times the work", unit, ratio)
		if ratio >= most {
			t.Errorf("%d times %q take %d times the work of the text alone or more", times, unit, most)
		}
	}
}

// quoting returns the processor time of quoting text with each policy that reads it.
func quoting(tb testing.TB, text string) time.Duration {
	tb.Helper()
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	began := threadTime(tb)
	for _, p := range []Policy{Mark, Redact} {
		Guard{Policy: p}.Quote(Agent("a"), text)
	}
	return threadTime(tb) - began
}

// threadTime returns the processor time of the current thread.
func threadTime(tb testing.TB) time.Duration {
	tb.Helper()
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &now); err != nil {
		tb.Fatal(err)
	}
	return time.Duration(now.Nano())
}
