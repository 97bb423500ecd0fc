package engine_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/parley-a2a/parley/internal/engine"
	"github.com/parley-a2a/parley/internal/store/memstore"
	"github.com/parley-a2a/parley/internal/task"
)

// foreignSnapshots is a store that returns the same snapshot for each task.
type foreignSnapshots struct {
	memstore.Store
	snapshot task.Snapshot
	reads    int
}

func (s *foreignSnapshots) Snapshot(context.Context, task.Key) (task.Snapshot, error) {
	s.reads++
	return s.snapshot, nil
}

// TestSnapshotNewerThanItsLog: a snapshot with entries that the log does not have belongs to
// another task, or to a log that has lost entries. The task is read from its log.
func TestSnapshotNewerThanItsLog(t *testing.T) {
	t.Parallel()
	store := new(foreignSnapshots)
	b := start(t, engine.Config{Store: store}, words(strings.Split(strings.Repeat("mine ", 50), " ")...))
	b.register("other", words(strings.Split(strings.Repeat("foreign ", 60), " ")...))
	h := b.send(text("hi")).Head
	r := text("other")
	r.Agent = "other"
	foreign := b.send(r)
	b.stop()
	if foreign.Head.Version <= h.Version {
		t.Fatalf("the snapshot at v%d is not newer than the log at v%d", foreign.Head.Version, h.Version)
	}
	store.snapshot = task.Snapshot{Version: foreign.Head.Version, Data: foreign.Fold.AppendBinary(nil)}
	b = start(t, engine.Config{Store: store}, words())
	got, err := json.Marshal(sdkTask(t, b.get(h.ID)))
	if err != nil {
		t.Fatal(err)
	}
	if store.reads == 0 {
		t.Fatal("the engine has not read the snapshot")
	}
	if strings.Contains(string(got), "foreign") || strings.Count(string(got), "mine") != 50 {
		t.Errorf("with a snapshot of another task the task is %s", got)
	}
}
