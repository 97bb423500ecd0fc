package main

import (
	"errors"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"go.uber.org/goleak"

	"github.com/parley-a2a/parley/client"
	"github.com/parley-a2a/parley/examples/exampletest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// TestCallersAreApart lets two callers create a task each; neither sees the other's.
func TestCallersAreApart(t *testing.T) {
	t.Parallel()
	p := exampletest.Start(t, exampletest.Build(t, "."), "-listen=127.0.0.1:0")
	ada := exampletest.Dial(t, p.URL, "ada-secret")
	grace := exampletest.Dial(t, p.URL, "grace-secret")
	adas, graces := write(t, ada, "Ada"), write(t, grace, "Grace")

	for _, tt := range []struct {
		name          string
		c             *client.Client
		mine, foreign a2a.TaskID
	}{
		{"Ada", ada, adas, graces},
		{"Grace", grace, graces, adas},
	} {
		if _, err := tt.c.Get(t.Context(), &a2a.GetTaskRequest{ID: tt.mine}); err != nil {
			t.Errorf("%s gets her own task: %v", tt.name, err)
		}
		if got := listed(t, tt.c); len(got) != 1 || got[0] != tt.mine {
			t.Errorf("%s lists %v, want %v alone", tt.name, got, tt.mine)
		}
		_, foreign := tt.c.Get(t.Context(), &a2a.GetTaskRequest{ID: tt.foreign})
		_, missing := tt.c.Get(t.Context(), &a2a.GetTaskRequest{ID: "no-such-task"})
		if !errors.Is(foreign, a2a.ErrTaskNotFound) || !errors.Is(missing, a2a.ErrTaskNotFound) {
			t.Errorf("%s gets a foreign task: %v, and one that is not there: %v; want %v for both", tt.name, foreign, missing, a2a.ErrTaskNotFound)
		}
	}
}

// TestStrangers calls without a token and with a wrong one.
func TestStrangers(t *testing.T) {
	t.Parallel()
	p := exampletest.Start(t, exampletest.Build(t, "."), "-listen=127.0.0.1:0")
	for _, key := range []string{"", "wrong"} {
		_, err := exampletest.Dial(t, p.URL, key).Send(t.Context(), exampletest.Say("hello"))
		if !errors.Is(err, a2a.ErrUnauthenticated) {
			t.Errorf("sending with the token %q: got %v, want %v", key, err, a2a.ErrUnauthenticated)
		}
	}
}

// write creates a task as the caller called name and returns its id.
func write(t *testing.T, c *client.Client, name string) a2a.TaskID {
	t.Helper()
	answer, err := c.Send(t.Context(), exampletest.Say("good night"))
	if err != nil {
		t.Fatal(err)
	}
	task, _ := answer.(*a2a.Task)
	if got, want := exampletest.Answer(t, task), name+" writes: good night"; got != want {
		t.Errorf("the diary says %q, want %q", got, want)
	}
	return task.ID
}

// listed returns the ids of all tasks that c sees.
func listed(t *testing.T, c *client.Client) []a2a.TaskID {
	t.Helper()
	var ids []a2a.TaskID
	for task, err := range c.Tasks(t.Context(), &a2a.ListTasksRequest{}) {
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, task.ID)
	}
	return ids
}
