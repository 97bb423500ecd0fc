package loop

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/internal/parts/rockbot/e2e/rockbotpeer"
	"github.com/parley-a2a/parley/internal/testing/openaitest"
	"github.com/parley-a2a/parley/internal/testing/rabbittest"
)

// killing chooses the moment of a kill: the first request for which at returns true.
type killing struct {
	mu sync.Mutex
	at func(*openaitest.Request) bool
	// reached is closed at that moment, and the model answers when killed is closed.
	reached, killed chan struct{}
}

// arm chooses the next moment.
func (k *killing) arm(at func(*openaitest.Request) bool) (reached, killed chan struct{}) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.at, k.reached, k.killed = at, make(chan struct{}), make(chan struct{})
	return k.reached, k.killed
}

// script runs primary, and waits at the moment.
func (k *killing) script(r *openaitest.Request) openaitest.Turn {
	turn := primary(r)
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.at != nil && k.at(r) {
		reached, killed := k.reached, k.killed
		k.at = nil
		turn.At = func(chunk, _ int) {
			if chunk == 1 {
				close(reached)
				<-killed
			}
		}
	}
	return turn
}

// worker is an agent that works until it may end, or until it is disconnected.
type worker struct {
	mu          sync.Mutex
	taken, ends chan struct{}
}

// hold makes the next request wait. taken is closed when the agent has received it; the caller
// closes ends to let it end.
func (a *worker) hold() (taken, ends chan struct{}) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.taken, a.ends = make(chan struct{}), make(chan struct{})
	return a.taken, a.ends
}

func (a *worker) handle(t *rockbotpeer.Task) (*rockbotpeer.Result, error) {
	a.mu.Lock()
	taken, ends := a.taken, a.ends
	a.taken = nil
	a.mu.Unlock()
	if taken == nil {
		return t.Result(rockbotpeer.Completed, text(lines)), nil
	}
	close(taken)
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for n := 1; ; n++ {
		select {
		case <-ends:
			return t.Result(rockbotpeer.Completed, text(lines)), nil
		case <-tick.C:
			if t.Status(rockbotpeer.Working, fmt.Sprintf("still working %d", n)) != nil {
				return nil, nil // the agent was killed, and its next process receives the request
			}
		}
	}
}

// TestKilled: the loop reaches the same answer with a kill of any process at any moment, and
// the agent is asked once.
func TestKilled(t *testing.T) {
	t.Parallel()
	server := rabbittest.Start(t)
	k, a := new(killing), new(worker)
	w := start(t, server.VHost(t), k.script, options{handle: a.handle})
	answered := func(t *testing.T, what string, begin func(a2a.TaskID)) {
		t.Helper()
		before := len(w.agent.Tasks)
		id := w.begin("extract it")
		begin(id)
		if got, want := answer(w.end(id)), fmt.Sprintf("completed: I have read %d lines.", lines); got != want {
			t.Errorf("%s: the answer is %q, want %q", what, got, want)
		}
		if n := len(w.agent.Tasks) - before; n > 1 {
			t.Errorf("%s: the agent was asked %d times", what, n)
		}
	}
	for what, at := range map[string]func(*openaitest.Request) bool{
		"the hub, when the model dispatches": func(r *openaitest.Request) bool { return r.Round() == 0 && len(r.Messages) == 2 },
		"the hub, before the model is notified": func(r *openaitest.Request) bool {
			return strings.Contains(r.Last("tool"), "dispatched") && r.Round() == 1 && !keyLine.MatchString(r.Last("user"))
		},
		"the hub, when the model is notified": func(r *openaitest.Request) bool { return keyLine.MatchString(r.Last("user")) && r.Round() == 0 },
		"the hub, when the model reads": func(r *openaitest.Request) bool {
			return keyLine.MatchString(r.Last("user")) && r.Round() == 2
		},
	} {
		t.Run(what, func(t *testing.T) {
			reached, killed := k.arm(at)
			taken, ends := a.hold()
			close(ends)
			answered(t, what, func(a2a.TaskID) {
				<-reached
				if !strings.Contains(what, "dispatches") {
					<-taken // a request that may have been sent is not sent again
				}
				w.hub.Kill()
				close(killed)
				if err := w.hub.Start(); err != nil {
					t.Fatal(err)
				}
			})
		})
	}
	t.Run("the hub, while the agent works", func(t *testing.T) {
		taken, ends := a.hold()
		answered(t, t.Name(), func(a2a.TaskID) {
			<-taken
			w.hub.Kill()
			close(ends) // its result arrives while the hub is down
			if err := w.hub.Start(); err != nil {
				t.Fatal(err)
			}
		})
	})
	t.Run("the agent", func(t *testing.T) {
		a.hold()
		answered(t, t.Name(), func(id a2a.TaskID) {
			w.sees(id, "still working")
			w.agent.Kill()
			w.agent = w.run(a.handle)
		})
	})
	t.Run("the broker", func(t *testing.T) {
		a.hold()
		answered(t, t.Name(), func(id a2a.TaskID) {
			w.sees(id, "still working")
			server.Kill()
			w.agent.Kill()
			server.Launch(t)
			w.agent = w.run(a.handle)
		})
	})
	w.agent.Unread()
}
