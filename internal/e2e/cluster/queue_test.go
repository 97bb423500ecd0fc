package cluster

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/parley-a2a/parley/internal/testing/hubtest"
)

// Workers perform the tasks of a killed hub to their ends, and report to the hub that has taken the
// tasks over: each is executed once, also that of an agent that may not be repeated. Work that waits
// in its queue goes to the first worker. It makes no difference that the killed hub is back.
func TestWorkersOfAKilledHub(t *testing.T) {
	t.Parallel()
	for name, start := range map[string]func(*testing.T) *broker{"NATS": onNATS, "RabbitMQ": onRabbit} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := startSystem(t, start(t))
			for _, back := range []bool{false, true} {
				t.Run(fmt.Sprintf("back=%v", back), func(t *testing.T) { s.loseHolder(t, back) })
			}
		})
	}
}

// chunksOfWork is the number of chunks of a task: more seconds than the leases of hubs and workers.
const chunksOfWork = 150

func (s *system) loseHolder(t *testing.T, back bool) {
	t.Helper()
	executed := len(s.awaitEffects(0))
	a, b := &member{s.nodes[0].Hub, t, "a"}, &member{s.nodes[1].Hub, t, "b"}
	tasks := map[string]*shownTask{}
	for _, agent := range []string{"later", "careful", "queued"} {
		tasks[agent] = a.send(agent, message{text: fmt.Sprint(chunksOfWork)})
	}
	// By then, it is stored that the work of the other task is in its queue.
	for !strings.Contains(string(a.raw(tasks["careful"].ID)), ":15 ") {
		if err := pause(t.Context(), 50*time.Millisecond); err != nil {
			t.Fatal(err)
		}
	}
	a.Kill()
	for names := []string{"a"}; slices.Contains(names, "a"); {
		var err error
		if names, err = membersOf(t.Context(), s.nodes[1]); err != nil {
			t.Fatal(err)
		}
	}
	if back {
		if err := a.Start(); err != nil {
			t.Fatal(err)
		}
	}
	s.startWorker("later")
	for agent, shown := range tasks {
		events := b.follow(shown.ID)
		completed(t, events)
		for i := range chunksOfWork {
			if n := chunks(events, i); n != 1 {
				t.Errorf("chunk %d of %s came %d times", i, agent, n)
				break
			}
		}
	}
	if got := s.awaitEffects(executed + 3)[executed:]; len(got) != 3 {
		t.Errorf("programs were executed %d times, want once for each agent: %q", len(got), got)
	}
	s.workers[len(s.workers)-1].Kill()
	if !back {
		if err := a.Start(); err != nil {
			t.Fatal(err)
		}
	}
}

// raw returns a task as JSON.
func (m *member) raw(id string) (got json.RawMessage) {
	m.t.Helper()
	m.call(hubtest.Request{URL: "/v1/a2a/tasks/" + id}, &got)
	return got
}

// chunks returns how often events have a chunk.
func chunks(events []hubtest.Event, i int) (n int) {
	for _, ev := range events {
		if !strings.Contains(ev.Data, "artifactUpdate") {
			continue // the end repeats the text
		}
		n += strings.Count(ev.Data, fmt.Sprintf(":%d ", i))
	}
	return n
}

// awaitEffects waits for a number of executions of programs, and returns all.
func (s *system) awaitEffects(n int) []string {
	s.t.Helper()
	for {
		b, err := os.ReadFile(s.record)
		if err != nil {
			s.t.Fatal(err)
		}
		if all := strings.Fields(strings.ReplaceAll(string(b), " ", "_")); len(all) >= n {
			return all
		}
		if err := pause(s.t.Context(), 50*time.Millisecond); err != nil {
			s.t.Fatal(err)
		}
	}
}
