//go:build !race

package engine_test

import (
	"context"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2asrv"

	"github.com/parley-a2a/parley/agent"
	"github.com/parley-a2a/parley/internal/engine"
)

// allocs is the number of objects that an operation allocates, including those of its agent. The test
// fails above 1.5 times that number. The race detector also allocates, so it is not built with it.
var allocs = map[string]float64{
	"answer at once": 71,
	"blocking send":  78,
	"get":            10,
}

// appendsPerTask is the number of writes to the store in the life of a task whose agent answers
// at once. Each append is a row of the task and one of its log.
const appendsPerTask = 2

// echo sends WORKING and one artifact, and completes.
func echo(_ context.Context, ec *a2asrv.ExecutorContext, yield func(a2a.Event, error) bool) {
	_ = yield(status(ec, a2a.TaskStateWorking, ""), nil) &&
		yield(chunk(ec, "hello", false), nil) &&
		yield(status(ec, a2a.TaskStateCompleted, ""), nil)
}

// echoing returns an agent with effects that executes echo.
func echoing() a2asrv.AgentExecutor {
	return agent.With(&executor{run: echo}, agent.Traits{NoMessage: true})
}

// TestAllocations does not run in parallel with other tests, because it counts for the whole
// process.
func TestAllocations(t *testing.T) {
	b := start(t, engine.Config{}, echoing())
	request := text("hello")
	id := b.send(request).Head.ID
	fast := start(t, engine.Config{}, pure(echo))
	for name, f := range map[string]func(){
		"answer at once": func() { fast.send(request) },
		"blocking send":  func() { b.send(request) },
		"get":            func() { b.get(id) },
	} {
		want, ok := allocs[name]
		if got := fewest(f); !ok || got > 1.5*want { // an alarm for mistakes, not a bar
			t.Errorf("%s allocates %v objects; it was %v", name, got, want)
		}
	}
}

// fewest returns the number of objects that f allocates. It is the minimum of several averages,
// because maps grow, pools are emptied, and timers fire at any time.
func fewest(f func()) float64 {
	least := testing.AllocsPerRun(100, f)
	for range 4 {
		least = min(least, testing.AllocsPerRun(100, f))
	}
	return least
}

// TestAppendsPerTask takes the minimum over many tasks: on a busy machine, time may pass
// between two events, and then the first one is written alone.
func TestAppendsPerTask(t *testing.T) {
	store := new(counting)
	b := start(t, engine.Config{Store: store}, echoing())
	best := int64(100)
	for range 50 {
		before := store.appends.Load()
		b.send(text("hello"))
		best = min(best, store.appends.Load()-before)
	}
	if best != appendsPerTask {
		t.Errorf("a task takes %d appends, want %d", best, appendsPerTask)
	}
}
