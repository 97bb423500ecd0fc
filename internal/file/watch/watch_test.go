package watch_test

import (
	"context"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/parley-a2a/parley/internal/file/watch"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestFollow(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	target, link, folder := filepath.Join(dir, "target"), filepath.Join(t.TempDir(), "link"), t.TempDir()
	if err := os.Symlink(target, link); err != nil {
		t.Fatal(err)
	}
	changed := make(chan struct{}, 100)
	ctx, cancel := context.WithCancel(t.Context())
	var all sync.WaitGroup
	all.Go(func() {
		if err := watch.Follow(ctx, []string{link, folder, filepath.Join(dir, "no", "such", "folder")}, func() { changed <- struct{}{} }); err != nil {
			t.Errorf("Follow: %v", err)
		}
	})
	defer all.Wait()
	defer cancel()
	<-changed // the call at the beginning
	for _, change := range []func() error{
		func() error { return os.Remove(link) },
		func() error { return os.WriteFile(link, []byte("x"), 0o600) },
		func() error { return os.WriteFile(filepath.Join(folder, "a"), []byte("x"), 0o600) },
	} {
		if err := change(); err != nil {
			t.Fatal(err)
		}
		<-changed
	}
}

func TestRest(t *testing.T) {
	t.Parallel()
	for waited, want := range map[time.Duration]time.Duration{
		0: 100 * time.Millisecond, 900 * time.Millisecond: 100 * time.Millisecond,
		970 * time.Millisecond: 30 * time.Millisecond, time.Second: 0, time.Hour: 0,
	} {
		if got := watch.Rest(waited); got != want {
			t.Errorf("after %v: %v, want %v", waited, got, want)
		}
	}
}

// A folder with constant changes is read nevertheless.
func TestBusyFolder(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	var calls atomic.Int32
	var all sync.WaitGroup
	all.Go(func() {
		_ = watch.Follow(ctx, []string{filepath.Join(dir, "file")}, func() {
			if calls.Add(1) == 3 { // the first call is before all changes
				cancel()
			}
		})
	})
	for other := filepath.Join(dir, "other"); ctx.Err() == nil; {
		if err := os.WriteFile(other, []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	all.Wait()
	if n := calls.Load(); n < 3 {
		t.Errorf("%d calls within half a minute, want one a second", n)
	}
}
