package cli

import (
	"strings"
	"testing"

	"github.com/parley-a2a/parley/internal/bus"
	"github.com/parley-a2a/parley/internal/config"
)

// TestCancelAsks: on a terminal, a person confirms the cancellation of all selected tasks.
func TestCancelAsks(t *testing.T) {
	t.Parallel()
	h := serveOn(t, new(bus.Memory), t.TempDir(), func(c *config.Config) { c.Agents = []config.Agent{queued} })
	for range 20 {
		h.send("queued", "hi")
	}
	args := []string{"tasks", "cancel", "--url", h.URL(), "--agent", "queued"}
	for _, answer := range []string{"n\n", "\n", ""} {
		code, out, errs := invoke(t, OS{Typed: true, Stdin: strings.NewReader(answer)}, args...)
		if code != exitFailed || out != "" || !strings.Contains(errs, "Cancel 20 tasks (20 submitted)? [y/N] ") || !strings.Contains(errs, "nothing was canceled") {
			t.Errorf("after %q: %d, %q, %q", answer, code, out, errs)
		}
	}
	code, out, errs := invoke(t, OS{Typed: true, Stdin: strings.NewReader("Y\n")}, args...)
	if n := strings.Count(out, "\tcanceled\n"); code != exitOK || n != 20 {
		t.Errorf("%d, %d tasks are canceled, want 20: %s%s", code, n, out, errs)
	}
}
