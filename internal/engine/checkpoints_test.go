package engine

import (
	"testing"

	"github.com/parley-a2a/parley/agent"
	"github.com/parley-a2a/parley/internal/store/memstore"
	"github.com/parley-a2a/parley/internal/task"
)

// TestCheckpointsBelongToEvents: a checkpoint may be stored with its event or a later one, and
// never before, even if a flush comes between the two.
func TestCheckpointsBelongToEvents(t *testing.T) {
	t.Parallel()
	e := New(Config{Store: new(memstore.Store)})
	r := e.newRun(e.newLive(ref{"ann", "t"}), &Agent{}, queueKey{})
	r.traits.AfterCrash = agent.Resume
	durable := func() { // one more event
		r.out.Add(task.Entry{})
		r.out.Acknowledge(r.out.Last())
	}
	durable()
	durable()
	durable()
	want := func(when string, seq int64, blob string) {
		t.Helper()
		if got := string(r.checkpoints.upTo(seq).blob); got != blob {
			t.Errorf("%s, up to event %d there is %q, want %q", when, seq, got, blob)
		}
	}
	r.Checkpoint([]byte("four"))
	want("before its event", 3, "")
	r.assignToNext()
	want("while its event comes", 3, "")
	want("with its event", 4, "four")
	durable()
	r.Checkpoint([]byte("five"))
	r.assignToNext()
	durable()
	four := r.checkpoints.upTo(4)
	want("with the one before", 4, "four")
	want("with both", 9, "five")
	r.dropSaved(&extras{checkpoint: four})
	want("once the first is durable", 4, "")
	want("once the first is durable", 5, "five")
	five := r.checkpoints.upTo(5)
	r.Checkpoint([]byte("five again"))
	r.checkpoints.assign(5)
	r.dropSaved(&extras{checkpoint: five})
	want("after one that was overtaken while it was stored", 5, "five again")
	if r.emptyLocked() || !r.checkpoints.pendingUpTo(5) {
		t.Error("nothing is pending")
	}
	r.dropSaved(&extras{checkpoint: r.checkpoints.upTo(5)})
	if !r.emptyLocked() {
		t.Error("something is pending")
	}
	r.out.Add(task.Entry{Seq: 6})
	if r.emptyLocked() {
		t.Error("an event is forgotten")
	}
}
