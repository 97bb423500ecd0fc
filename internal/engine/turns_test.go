package engine_test

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2asrv"

	"github.com/parley-a2a/parley/internal/engine"
	"github.com/parley-a2a/parley/internal/store/memstore"
	"github.com/parley-a2a/parley/internal/task"
)

// readsFromStart counts the reads of whole logs.
type readsFromStart struct {
	memstore.Store
	n atomic.Int64
}

func (s *readsFromStart) Read(ctx context.Context, key task.Key, after int64) ([]task.Entry, error) {
	if after == 0 {
		s.n.Add(1)
	}
	return s.Store.Read(ctx, key, after)
}

// TestTurnsDoNotReadTheWholeLog: the Observer gets the outcome of a task with many turns, although its
// log is read from the start once, at the end, and not at each turn.
func TestTurnsDoNotReadTheWholeLog(t *testing.T) {
	t.Parallel()
	const turns = 500
	store := new(readsFromStart)
	asks := &executor{run: func(_ context.Context, ec *a2asrv.ExecutorContext, yield func(a2a.Event, error) bool) {
		output := ec.Message.Parts[0].Text()
		if strings.HasPrefix(output, "end") {
			yield(status(ec, a2a.TaskStateCompleted, "over"), nil)
			return
		}
		yield(status(ec, a2a.TaskStateInputRequired, "wanted "+output[:8]), nil)
	}}
	ended := make(chan *engine.Outcome, 1)
	b := start(t, engine.Config{Store: store, Observer: engine.ObserverFuncs{
		OnEnded: func(o *engine.Outcome) { ended <- o },
	}, Interest: engine.Interest{
		Ends:   true,
		Bodies: func(body []byte) bool { return strings.Contains(string(body), "wanted ") },
	}}, asks)
	none := 0
	turn := func(id a2a.TaskID, words string) a2a.TaskID {
		r := text(words)
		r.Message.TaskID, r.HistoryLength = id, &none
		return b.send(r).Head.ID
	}
	first := text("turn 000" + strings.Repeat("x", 100))
	first.Message.Skill, first.HistoryLength = "main", &none
	id := b.send(first).Head.ID
	var middle int64
	for i := 1; i < turns; i++ {
		turn(id, fmt.Sprintf("turn %03d", i)+strings.Repeat("x", 100))
		if i == turns-100 {
			middle = store.n.Load()
		}
	}
	if n := store.n.Load() - middle; n > 10 {
		t.Errorf("the log was read from its start %d times in 100 turns, want hardly ever: its snapshot has the rest", n)
	}
	turn(id, "end")
	o := <-ended
	if o.Skill != "main" || o.State != task.Completed {
		t.Errorf("outcome is %s of skill %q, want COMPLETED of main", o.State, o.Skill)
	}
	for i, body := range o.Bodies {
		if want := fmt.Sprintf("wanted turn %03d", i); !strings.Contains(string(body), want) {
			t.Fatalf("body %d is %s, want %s", i, body, want)
		}
	}
	if n := len(o.Bodies); n < 300 { // they have 64 KiB
		t.Errorf("the outcome has %d bodies, want those of the first 300 turns", n)
	}
}
