package audit

import (
	"path/filepath"
	"testing"

	"github.com/parley-a2a/parley/internal/testing/powercut"
)

// TestPowerCut: an entry is on disk when Append has returned, whether it is the first one of the
// log, the first one of a segment or another one.
func TestPowerCut(t *testing.T) {
	t.Parallel()
	for name, size := range map[string]int64{"one segment": 0, "a segment for each entry": 1, "a segment for some entries": 2000} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			folder := t.TempDir()
			disk := powercut.Watch(t, folder)
			l := openTest(t, Options{Dir: filepath.Join(folder, "audit"), SegmentSize: size})
			for i := range 12 {
				r := added(i)
				r.Action = TaskSend // head.json, and with it the folder, is not written after each
				if err := l.Append(r); err != nil {
					t.Fatal(err)
				}
				left := filepath.Join(disk.Cut(t), "audit")
				if problems := check(t, left, Check{}).Problems; len(problems) > 0 {
					t.Errorf("after a power cut Verify found %s", list(problems))
				}
				found := 0
				for _, e := range entries(t, left, Query{}) {
					if e.Action == TaskSend {
						found++
					}
				}
				if found != i+1 {
					t.Errorf("after a power cut the log has %d of %d entries", found, i+1)
				}
			}
		})
	}
}
