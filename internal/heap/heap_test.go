package heap_test

import (
	"os"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"testing"

	"github.com/parley-a2a/parley/internal/heap"
	"github.com/parley-a2a/parley/internal/testing/testenv"
)

// resident returns the resident memory of this process in bytes.
func resident(t *testing.T) int {
	t.Helper()
	b, err := os.ReadFile("/proc/self/statm")
	testenv.Met(t, err == nil, "/proc")
	pages, err := strconv.Atoi(strings.Fields(string(b))[1])
	if err != nil {
		t.Fatal(err)
	}
	return pages * os.Getpagesize()
}

// TestFloor checks that a floor postpones collections without becoming resident.
func TestFloor(t *testing.T) {
	debug.FreeOSMemory()
	before := resident(t)
	const floor = 256 << 20
	heap.Floor(floor)
	runtime.GC()
	var s runtime.MemStats
	runtime.ReadMemStats(&s)
	if s.NextGC < floor {
		t.Errorf("next collection at %d bytes, want more than %d", s.NextGC, floor)
	}
	if grown := resident(t) - before; grown > floor/8 {
		t.Errorf("resident memory grew by %d bytes for a floor of %d", grown, floor)
	}
}
