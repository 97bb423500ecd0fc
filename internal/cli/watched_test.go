package cli

import (
	"io"
	"os"
	"strings"
	"testing"

	"github.com/parley-a2a/parley/internal/bus"
	"github.com/parley-a2a/parley/internal/config"
)

// runningCommand is a command that runs until it is interrupted.
type runningCommand struct {
	t       *testing.T
	out     *io.PipeReader
	signals chan os.Signal
	code    chan int
}

func startCommand(t *testing.T, o OS, args ...string) *runningCommand {
	t.Helper()
	r, w := io.Pipe()
	c := &runningCommand{t, r, make(chan os.Signal, 1), make(chan int, 1)}
	o.Stdout, o.Stderr = w, t.Output()
	o.Signals = func() (<-chan os.Signal, func()) { return c.signals, func() {} }
	go func() {
		code := Main(t.Context(), args, o)
		w.Close()
		c.code <- code
	}()
	return c
}

// until reads the output until all texts are in it.
func (c *runningCommand) until(texts ...string) string {
	c.t.Helper()
	var all strings.Builder
	for chunk := make([]byte, 64<<10); ; {
		n, err := c.out.Read(chunk)
		all.Write(chunk[:n])
		missing := ""
		for _, text := range texts {
			if !strings.Contains(all.String(), text) {
				missing = text
			}
		}
		if missing == "" {
			return all.String()
		}
		if err != nil {
			c.t.Fatalf("%v, and no %q in %q", err, missing, all.String())
		}
	}
}

// end interrupts the command, which must succeed.
func (c *runningCommand) end() {
	c.t.Helper()
	c.signals <- os.Interrupt
	_, _ = io.Copy(io.Discard, c.out)
	if code := <-c.code; code != 0 {
		c.t.Errorf("exit code %d", code)
	}
}

// TestWatchLists: a list that is watched shows each change, in a pipe as further rows and on a terminal in place.
func TestWatchLists(t *testing.T) {
	t.Parallel()
	h := serveOn(t, new(bus.Memory), t.TempDir(), func(c *config.Config) { c.Agents = []config.Agent{{Name: "greeter", Queue: "greeter"}} })
	before := h.send("greeter", "before")
	flags := []string{"--url", h.URL(), "--watch"}
	list := func(o OS, args ...string) *runningCommand { return startCommand(t, o, append(args, flags...)...) }
	mine, all := list(OS{}, "tasks", "list"), list(OS{}, "tasks", "list", "--all", "-o", "json")
	screen := list(OS{Terminal: true, Rich: true, Colors: true}, "tasks", "list", "--agent", "greeter")
	agents := list(OS{}, "agents", "list")
	mine.until(before + "\tsubmitted\t")
	all.until(`"taskId":"` + before + `"`)
	screen.until("TASK", "before")
	agents.until("greeter\tqueue\t")

	after := h.send("greeter", "after")
	if got := mine.until(after + "\tsubmitted\t"); strings.Contains(got, before) {
		t.Errorf("a row that has not changed is printed again: %q", got)
	}
	all.until(`"taskId":"` + after + `"`)
	screen.until("\x1b[2A\x1b[J", "before", "after")

	if code, out, errs := invoke(t, OS{}, "tasks", "cancel", "--url", h.URL(), before); code != 0 {
		t.Fatalf("cancel = %d, %s%s", code, out, errs)
	}
	mine.until(before + "\tcanceled\t")
	all.until(`"taskId":"`+before+`"`, "TASK_STATE_CANCELED")
	screen.until("\x1b[3A\x1b[J", "canceled")
	if code, out, errs := invoke(t, OS{}, "agents", "pause", "--url", h.URL(), "greeter"); code != 0 {
		t.Fatalf("pause = %d, %s%s", code, out, errs)
	}
	agents.until("greeter\tqueue\tpaused\t")
	for _, c := range []*runningCommand{mine, all, screen, agents} {
		c.end()
	}
}

// TestWatchElsewhere: a server that is not a hub, or that is not there, is an error immediately.
func TestWatchElsewhere(t *testing.T) {
	t.Parallel()
	sdk := startSDK(t.Cleanup)
	if code, _, errs := invoke(t, OS{}, "tasks", "list", "--watch", "--url", sdk.url); code != exitUsage || !strings.Contains(errs, "needs a Parley hub") {
		t.Errorf("another server: %d, %q", code, errs)
	}
	if code, _, errs := invoke(t, OS{}, "inbox", "list", "--watch", "--url", "http://127.0.0.1:1"); code != exitUnreachable {
		t.Errorf("no server: %d, %q", code, errs)
	}
}
