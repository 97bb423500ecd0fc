package main

import (
	"io"
	"net/http"
	"sync"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"go.uber.org/goleak"

	"github.com/parley-a2a/parley/client"
	"github.com/parley-a2a/parley/examples/exampletest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// TestOtherRoutes calls the routes of the shop and those of the hub.
func TestOtherRoutes(t *testing.T) {
	t.Parallel()
	shop := exampletest.Start(t, exampletest.Build(t, "."), "-listen=127.0.0.1:0", "-thinking=0s")
	var web http.Client
	defer web.CloseIdleConnections()
	for _, tt := range []struct {
		path string
		code int
		body string
	}{
		{"/", http.StatusOK, "Welcome to the shop.\n"},
		{"/prices", http.StatusNotFound, "404 page not found\n"},
	} {
		resp, err := web.Get(shop.URL + tt.path)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if resp.StatusCode != tt.code || string(body) != tt.body || err != nil {
			t.Errorf("GET %s = %d %q (%v), want %d %q", tt.path, resp.StatusCode, body, err, tt.code, tt.body)
		}
	}

	answer, err := exampletest.Dial(t, shop.URL, "").Send(t.Context(), exampletest.Say("Which one?"))
	if err != nil {
		t.Fatal(err)
	}
	task, _ := answer.(*a2a.Task)
	if got, want := exampletest.Answer(t, task), "Take the blue one."; got != want {
		t.Errorf("the advisor says %q, want %q", got, want)
	}
	if err := shop.Interrupt(); err != nil {
		t.Errorf("the shop ended with %v, want nil:\n%s", err, shop.Output())
	}
}

// TestGracefulStop stops the shop while the agent is thinking: the caller gets its answer all
// the same.
func TestGracefulStop(t *testing.T) {
	t.Parallel()
	shop := exampletest.Start(t, exampletest.Build(t, "."), "-listen=127.0.0.1:0", "-thinking=2s")
	c := exampletest.Dial(t, shop.URL, "")
	stopped := make(chan error, 1)
	stop := sync.OnceFunc(func() { stopped <- shop.Interrupt() })
	var stopping sync.WaitGroup
	defer stopping.Wait()
	var reply client.Fold
	for event, err := range c.Stream(t.Context(), exampletest.Say("Which one?")) {
		if err != nil {
			t.Fatal(err)
		}
		reply.Apply(event)
		if reply.Task.Status.State == a2a.TaskStateWorking {
			stopping.Go(stop)
		}
	}
	if got, want := exampletest.Answer(t, reply.Task), "Take the blue one."; got != want {
		t.Errorf("the advisor says %q, want %q", got, want)
	}
	stop()
	if err := <-stopped; err != nil {
		t.Errorf("the shop ended with %v, want nil:\n%s", err, shop.Output())
	}
}
