package trustfile_test

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"github.com/parley-a2a/parley/internal/file/trustfile"
	"github.com/parley-a2a/parley/internal/file/watch"
	"github.com/parley-a2a/parley/internal/testing/testenv"
	"github.com/parley-a2a/parley/internal/trust"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestTheFileIsReadLive(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), trustfile.Name)
	logged := new(testenv.Buffer)
	f := &trustfile.File{Paths: []string{filepath.Join(t.TempDir(), "none"), path}, Logger: slog.New(slog.NewTextHandler(logged, nil))}
	updates := make(chan []trust.Entry, 10)
	follow := func(entries []trust.Entry) { updates <- entries }
	if err := f.Load(follow); err != nil || len(updates) != 0 {
		t.Fatalf("Load without a file: %v, %d updates", err, len(updates))
	}
	ctx, cancel := context.WithCancel(t.Context())
	var all sync.WaitGroup
	w := &watch.Watcher{Logger: f.Logger}
	all.Go(func() { w.Run(ctx) })
	all.Go(func() { f.Run(ctx, w, follow) })
	defer all.Wait()
	defer cancel()
	write(t, path, `[{"agentId":"ann","level":"act"}]`)
	if got := <-updates; len(got) != 1 || got[0].Level != trust.Act {
		t.Errorf("told %+v", got)
	}
	write(t, path, `[{"agentId":"ann","level":`)
	write(t, path, `[{"agentId":"ann","level":"root"}]`)
	if got := <-updates; len(got) != 1 || got[0].Level != trust.Observe {
		t.Errorf("told %+v", got)
	}
	if err := f.Write([]trust.Entry{{Subject: "bob", Level: trust.Learn}}); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if got := <-updates; len(got) != 0 {
		t.Errorf("a file that is gone says %+v", got)
	}
	if !strings.Contains(logged.String(), "kept at observe") {
		t.Errorf("log = %s", logged)
	}
}

func TestBrokenFiles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, trustfile.Name)
	f := &trustfile.File{Paths: []string{path}, Logger: slog.New(slog.DiscardHandler)}
	calls := 0
	follow := func([]trust.Entry) { calls++ }
	for _, text := range []string{"{}", "", strings.Repeat(" ", 5<<20)} {
		write(t, path, text)
		if err := f.Load(follow); err == nil || !strings.Contains(err.Error(), trustfile.Name) || calls != 0 {
			t.Errorf("Load of %.10q: %v, %d calls", text, err, calls)
		}
	}
	write(t, path, "{}")
	link := filepath.Join(dir, "link.json")
	if err := os.Symlink(path, link); err != nil {
		t.Fatal(err)
	}
	if err := (&trustfile.File{Paths: []string{link}, Logger: f.Logger}).Write([]trust.Entry{{Subject: "ann", Level: trust.Act}}); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Lstat(link); err != nil || info.Mode()&os.ModeSymlink == 0 {
		t.Errorf("the link was replaced: %v", err)
	}
	if err := f.Load(follow); err != nil || calls != 1 {
		t.Errorf("Load of the written file: %v, %d calls", err, calls)
	}
	if left, _ := filepath.Glob(filepath.Join(dir, ".*")); len(left) != 0 {
		t.Errorf("left behind: %v", left)
	}
	if err := (&trustfile.File{Paths: []string{filepath.Join(dir, "gone", "x")}, Logger: f.Logger}).Write(nil); err == nil {
		t.Error("a file in no folder was written")
	}
}

func TestPlaces(t *testing.T) {
	t.Parallel()
	if got := trustfile.Paths("/x/y.json", "data"); len(got) != 1 || got[0] != "/x/y.json" {
		t.Errorf("places of a configured file = %q", got)
	}
	if got := trustfile.Paths("", "data"); len(got) != 3 || got[2] != filepath.Join("data", trustfile.Name) {
		t.Errorf("places = %q", got)
	}
}
