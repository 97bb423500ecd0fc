package audit

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/parley-a2a/parley/internal/hubtest"
)

// TestFullDisk fills the disk of a log: whoever waits is told, nothing half is left, and the
// log goes on when there is room, with the number of what was lost.
func TestFullDisk(t *testing.T) {
	disk := hubtest.Disk(t, "1m")
	ballast := filepath.Join(disk, "ballast")
	if err := os.WriteFile(ballast, make([]byte, 700<<10), 0o600); err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(disk, "audit")
	l := openTest(t, Options{Dir: dir, SegmentSize: 32 << 10})
	big := added(0)
	for range 10 {
		big.Detail = append(big.Detail, Field{"filler", strings.Repeat("x", maxText)})
	}
	written, refused := 0, 0
	var mu sync.Mutex
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range 100 {
				err := l.Append(big)
				mu.Lock()
				switch {
				case err == nil:
					written++
				case errors.Is(err, ErrUnwritable) && strings.Contains(err.Error(), "the disk is full"):
					refused++
				default:
					t.Errorf("Append on a full disk = %v", err)
				}
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	if written == 0 || refused == 0 {
		t.Fatalf("%d entries were written and %d refused, want both", written, refused)
	}
	if l.Trouble() == nil {
		t.Error("nothing says that the log cannot be written")
	}
	if _, err := l.Begin(big); !errors.Is(err, ErrUnwritable) {
		t.Errorf("Begin on a full disk = %v, want the error at once", err)
	}
	sound(t, dir)
	if err := os.Remove(ballast); err != nil {
		t.Fatal(err)
	}
	if err := l.Append(added(1)); err != nil {
		t.Fatalf("Append with room again: %v", err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if err := l.Trouble(); err != nil {
		t.Errorf("with room again there is trouble: %v", err)
	}
	sound(t, dir)
	if got := len(entries(t, dir, Query{Action: string(KeyAdd)})); got != written+1 {
		t.Errorf("%d entries are in the log, want %d", got, written+1)
	}
	if lost := entries(t, dir, Query{Action: string(auditLost)}); len(lost) == 0 {
		t.Error("the log does not say what was lost")
	}
}
