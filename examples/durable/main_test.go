package main

import (
	"errors"
	"path/filepath"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"go.uber.org/goleak"

	"github.com/parley-a2a/parley/client"
	"github.com/parley-a2a/parley/examples/exampletest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// TestKill kills the program in the middle of a task and starts it again: the task is completed
// by a second attempt.
func TestKill(t *testing.T) {
	t.Parallel()
	program := exampletest.Build(t, ".")
	db := filepath.Join(t.TempDir(), "durable.db")
	start := func(work string) (*exampletest.Process, *client.Client) {
		p := exampletest.Start(t, program, "-listen=127.0.0.1:0", "-db="+db, "-work="+work)
		return p, exampletest.Dial(t, p.URL, "")
	}

	p, c := start("1h")
	var before client.Fold
	for event, err := range c.Stream(t.Context(), exampletest.Say("whales")) {
		if err != nil {
			t.Fatal(err)
		}
		before.Apply(event)
		if before.Task.Status.State == a2a.TaskStateWorking {
			break
		}
	}
	p.Kill()

	p, c = start("0s")
	after := follow(t, c, before.Task.ID)
	if got, want := exampletest.Answer(t, after), "Report on whales, done at attempt 2."; got != want {
		t.Errorf("the answer is %q, want %q", got, want)
	}
	if err := p.Interrupt(); err != nil {
		t.Errorf("the program ended with %v, want nil:\n%s", err, p.Output())
	}
}

// follow returns a task when it has ended.
func follow(t *testing.T, c *client.Client, id a2a.TaskID) *a2a.Task {
	t.Helper()
	for _, err := range c.Subscribe(t.Context(), &a2a.SubscribeToTaskRequest{ID: id}) {
		if errors.Is(err, a2a.ErrUnsupportedOperation) {
			break // It has ended already.
		}
		if err != nil {
			t.Fatalf("subscribe to %s: %v", id, err)
		}
	}
	task, err := c.Get(t.Context(), &a2a.GetTaskRequest{ID: id})
	if err != nil {
		t.Fatalf("get %s: %v", id, err)
	}
	return task
}
