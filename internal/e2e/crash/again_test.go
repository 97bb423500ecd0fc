package crash

import (
	"context"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/parley-a2a/parley/internal/testing/hubtest"
)

// halfProgram prints a line and hangs at its first attempt; then it prints another one and ends.
const halfProgram = `if [ "$PARLEY_ATTEMPT" = 1 ]; then echo half; exec sleep 100; fi; echo whole`

const againConfig = `
bus: {lease: 1s}
agents:
  - {name: safe, idempotent: true, command: [sh, -c, PROGRAM]}
  - {name: bold, idempotent: true, on_crash: again, command: [sh, -c, PROGRAM]}
  - {name: safe-queue, queue: safe-queue}
  - {name: bold-queue, queue: bold-queue, on_crash: again}
`

// TestBeginAgainAfterOutput kills the hub, or the worker, once a caller has seen output of an idempotent
// run. With on_crash: again, the task is completed by a second attempt with an artifact of its own.
func TestBeginAgainAfterOutput(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	h := hubtest.Start(t, hubtest.Options{Config: strings.ReplaceAll(againConfig, "PROGRAM", strconv.Quote(halfProgram))})
	work := func(name string) *hubtest.Process {
		p := hubtest.Launch(t, hubtest.Command{Args: []string{
			"agent", "run", "--data", h.Data(), "--name", name, "--idempotent", "--", "sh", "-c", halfProgram,
		}})
		if err := p.Await(ctx, "performing the tasks of an agent"); err != nil {
			t.Fatal(err)
		}
		return p
	}
	agents := []string{"safe", "bold", "safe-queue", "bold-queue"}
	workers := map[string]*hubtest.Process{"safe-queue": work("safe-queue"), "bold-queue": work("bold-queue")}
	ids := map[string]string{}
	read := func(name string, ready func(*taskJSON) bool) (got taskJSON) {
		t.Helper()
		if !until(ctx, 20*time.Millisecond, func() bool {
			got = taskJSON{}
			return hubtest.Call(ctx, hubtest.Request{URL: h.URL() + "/v1/a2a/tasks/" + ids[name]}, &got) == nil && ready(&got)
		}) {
			t.Fatalf("the task of %s is %s with %q", name, got.state(), got.text())
		}
		return got
	}
	for _, name := range agents {
		var f frame
		if err := hubtest.Call(ctx, hubtest.Request{
			URL: h.URL() + "/v1/a2a/" + name + "/message:send", Body: sending{id: name, text: "go"}.body(),
		}, &f); err != nil {
			t.Fatal(err)
		}
		ids[name] = f.Task.ID
		read(name, func(got *taskJSON) bool { return len(got.Artifacts) == 1 })
	}
	for name, p := range workers {
		p.Kill()
		work(name)
	}
	h.Kill()
	if err := h.Start(); err != nil {
		t.Fatal(err)
	}
	for _, name := range agents {
		got := read(name, func(got *taskJSON) bool { return got.ended() })
		want, artifacts := "FAILED", 1
		if name == "bold" || name == "bold-queue" {
			want, artifacts = "COMPLETED", 2
		}
		if got.state() != want || len(got.Artifacts) != artifacts {
			t.Errorf("the task of %s is %s with %d artifacts (%q), want %s with %d", name, got.state(), len(got.Artifacts), got.text(), want, artifacts)
		}
	}
}
