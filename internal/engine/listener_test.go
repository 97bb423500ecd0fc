package engine_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/parley-a2a/parley/internal/engine"
	"github.com/parley-a2a/parley/task"
)

// hearer records the output of agents.
type hearer struct {
	mu    sync.Mutex // guards the field below
	heard []string
}

func (h *hearer) output(s *engine.Output) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for i := range s.Entries {
		en := &s.Entries[i]
		h.heard = append(h.heard, fmt.Sprintf("%s %v v%d: %s", s.Agent, en.Kind == task.Artifact, en.Version, task.TextOf(en.Body)))
	}
}

func TestObserverOutput(t *testing.T) {
	t.Parallel()
	for kind, want := range map[string]string{
		"local": "main false v2: , main true v3: a, main true v4: b, main false v5: done", "remote": "",
	} {
		h := new(hearer)
		b := start(t, engine.Config{Observer: engine.Observer{Output: h.output, Kinds: []string{kind}}}, words("a", "b"))
		b.send(text("hi"))
		b.stop()
		if got := strings.Join(h.heard, ", "); got != want {
			t.Errorf("of %s agents %q was heard, want %q", kind, got, want)
		}
	}
}
