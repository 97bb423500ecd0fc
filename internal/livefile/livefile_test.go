package livefile_test

import (
	"context"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"github.com/parley-a2a/parley/internal/livefile"
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
		if err := livefile.Follow(ctx, []string{link, folder, filepath.Join(dir, "no", "such", "folder")}, func() { changed <- struct{}{} }); err != nil {
			t.Errorf("Follow: %v", err)
		}
	})
	defer all.Wait()
	defer cancel()
	<-changed // at the beginning
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
