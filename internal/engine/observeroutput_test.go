package engine_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/parley-a2a/parley/internal/engine"
	"github.com/parley-a2a/parley/internal/task"
)

// outputRecorder records the output of agents.
type outputRecorder struct {
	mu       sync.Mutex // guards the field below
	received []string
}

func (h *outputRecorder) changed(c engine.Change) {
	s := c.Output
	if s == nil {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	for i := range s.Entries {
		en := &s.Entries[i]
		h.received = append(h.received, fmt.Sprintf("%s %v v%d: %s", s.Agent, en.Kind == task.Artifact, en.Version, task.TextOf(en.Body)))
	}
}

func TestObserverOutput(t *testing.T) {
	t.Parallel()
	for kind, want := range map[string]string{
		"local": "main false v2: , main true v3: a, main true v4: b, main false v5: done", "remote": "",
	} {
		h := new(outputRecorder)
		b := start(t, engine.Config{Observer: engine.ObserverFuncs{OnChanged: h.changed}, Interest: engine.Interest{Output: []string{kind}}}, words("a", "b"))
		b.send(text("hi"))
		b.stop()
		if got := strings.Join(h.received, ", "); got != want {
			t.Errorf("of %s agents the observer received %q, want %q", kind, got, want)
		}
	}
}
