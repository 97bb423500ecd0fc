package hubtools_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/parley-a2a/parley/internal/adminjson"
	"github.com/parley-a2a/parley/internal/llm/hubtools"
)

// changing is a source whose agents change. It sends no messages.
type changing struct {
	hubtools.Source
	mu     sync.Mutex
	agents []adminjson.Agent
	err    error
}

func (s *changing) Agents(context.Context) ([]adminjson.Agent, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.agents, s.err
}

func (s *changing) set(err error, agents ...adminjson.Agent) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.agents, s.err = agents, err
}

func TestChanged(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		echo := adminjson.Agent{Name: "echo", Skills: []adminjson.Skill{{ID: "echo"}}}
		s := new(changing)
		s.set(nil, echo)
		b := &hubtools.Bridge{Source: s, Box: new(hubtools.Toolbox)}
		ctx, cancel := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		wg.Go(func() { b.Run(ctx) })
		count(t, b)
		changed := b.Changed()
		closed := func() bool {
			time.Sleep(2 * time.Minute)
			synctest.Wait()
			select {
			case <-changed:
				return true
			default:
				return false
			}
		}
		if closed() {
			t.Error("Changed was closed without a change")
		}
		s.set(errors.New("away"))
		if closed() {
			t.Error("Changed was closed while the source failed")
		}
		echo.Skills = append(echo.Skills, adminjson.Skill{ID: "shout"})
		s.set(nil, echo)
		if !closed() {
			t.Error("Changed was not closed for a new skill")
		}
		if got := count(t, b); got != 2 {
			t.Errorf("there are %d tools, want 2", got)
		}
		if changed = b.Changed(); closed() {
			t.Error("Changed was closed twice for one change")
		}
		cancel()
		wg.Wait()
	})
}

func count(t *testing.T, b *hubtools.Bridge) int {
	t.Helper()
	tools, err := b.Tools(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return len(tools)
}
