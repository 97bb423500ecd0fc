package cli

import (
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2asrv"

	"github.com/parley-a2a/parley/internal/agents/command"
)

// TestRunsOfAWorkerThatStopsAtOnce checks that running programs are ended, and that their
// folder is removed.
func TestRunsOfAWorkerThatStopsAtOnce(t *testing.T) {
	t.Parallel()
	among := t.TempDir()
	runs, err := openWorkerRuns(among, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	x := &command.Agent{Command: []string{"/bin/sh", "-c", `echo ready; exec sleep 1000`}, Runs: runs.path}
	// Output shows that the program is recorded.
	ready := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		once := sync.OnceFunc(func() { close(ready) })
		defer once()
		ec := &a2asrv.ExecutorContext{TaskID: "t", ContextID: "c", Message: a2a.NewMessage(a2a.MessageRoleUser)}
		var last a2a.Event
		for ev, err := range x.Execute(t.Context(), ec) {
			if err != nil {
				t.Error(err)
			}
			if _, ok := ev.(*a2a.TaskArtifactUpdateEvent); ok {
				once()
			}
			last = ev
		}
		if u, ok := last.(*a2a.TaskStatusUpdateEvent); !ok || !strings.Contains(u.Status.Message.Parts[0].Text(), "killed") {
			t.Errorf("the run ends with %+v, want that its program was killed", last)
		}
	})
	<-ready
	if err := runs.close(); err != nil {
		t.Errorf("close = %v", err)
	}
	wg.Wait()
	if left, err := os.ReadDir(among); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

// TestRunsOfOthers checks that folders that other users or programs have created are not
// touched.
func TestRunsOfOthers(t *testing.T) {
	t.Parallel()
	among := t.TempDir()
	open, file := filepath.Join(among, workerPrefix+"open"), filepath.Join(among, workerPrefix+"file")
	if err := os.Mkdir(open, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(t.TempDir(), filepath.Join(among, workerPrefix+"link")); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(among, workerPrefix+"left"), 0o700); err != nil {
		t.Fatal(err)
	}
	reapWorkers(among, slog.New(slog.DiscardHandler))
	left, err := os.ReadDir(among)
	if err != nil {
		t.Fatal(err)
	}
	if len(left) != 3 {
		t.Errorf("there is %v, want what others have made", left)
	}
}

// TestRunsOfWorkersSideBySide checks that starting workers do not interfere with stopping ones.
func TestRunsOfWorkersSideBySide(t *testing.T) {
	t.Parallel()
	among := t.TempDir()
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range 100 {
				runs, err := openWorkerRuns(among, slog.New(slog.DiscardHandler))
				if err != nil {
					t.Errorf("open = %v", err)
					return
				}
				if err := runs.close(); err != nil {
					t.Errorf("close = %v", err)
					return
				}
			}
		})
	}
	wg.Wait()
	if left, err := os.ReadDir(among); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}
