package audit_test

import (
	"bytes"
	"crypto/ed25519"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/parley-a2a/parley/internal/audit"
	"github.com/parley-a2a/parley/internal/testing/hubtest"
)

// TestFullDisk fills the disk of a log: waiting callers get an error, and no partial entry
// remains. The log continues when there is space again, with the number of lost entries.
func TestFullDisk(t *testing.T) {
	disk := hubtest.Disk(t, "1m")
	ballast := filepath.Join(disk, "ballast")
	if err := os.WriteFile(ballast, make([]byte, 700<<10), 0o600); err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(disk, "audit")
	key := ed25519.NewKeyFromSeed(bytes.Repeat([]byte{7}, ed25519.SeedSize))
	l, err := audit.Open(audit.Options{Dir: dir, Key: key, SegmentSize: 32 << 10})
	if err != nil {
		t.Fatal(err)
	}
	big := &audit.Record{Action: audit.KeyAdd}
	for range 10 {
		big.Detail = append(big.Detail, audit.Field{Name: "filler", Value: strings.Repeat("x", 512)})
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
				case errors.Is(err, audit.ErrUnwritable) && strings.Contains(err.Error(), "the disk is full"):
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
	if _, err := l.Begin(big); !errors.Is(err, audit.ErrUnwritable) {
		t.Errorf("Begin on a full disk = %v, want the error at once", err)
	}
	sound(t, dir, key)
	if err := os.Remove(ballast); err != nil {
		t.Fatal(err)
	}
	if err := l.Append(&audit.Record{Action: audit.KeyAdd}); err != nil {
		t.Fatalf("Append with room again: %v", err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if err := l.Trouble(); err != nil {
		t.Errorf("with room again there is trouble: %v", err)
	}
	sound(t, dir, key)
	if got := count(t, dir, "key.add"); got != written+1 {
		t.Errorf("%d entries are in the log, want %d", got, written+1)
	}
	if count(t, dir, "audit.lost") == 0 {
		t.Error("the log does not report the lost entries")
	}
}

// sound verifies a log and fails the test on a problem.
func sound(t *testing.T, dir string, key ed25519.PrivateKey) {
	t.Helper()
	rep, err := audit.Verify(dir, audit.Check{Key: key.Public().(ed25519.PublicKey)})
	if err != nil || len(rep.Problems) > 0 {
		t.Fatalf("Verify = %+v, %v", rep, err)
	}
}

// count returns the number of entries of an action.
func count(t *testing.T, dir, action string) (n int) {
	t.Helper()
	for _, err := range audit.Read(t.Context(), dir, audit.Query{Action: action}, 0) {
		if err != nil {
			t.Fatal(err)
		}
		n++
	}
	return n
}
