package main

import (
	"context"
	"fmt"
	"io"
	"net/http/httptest"
	"os"
	"sync"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2asrv"
	"go.uber.org/goleak"

	"github.com/parley-a2a/parley"
	"github.com/parley-a2a/parley/agent"
	"github.com/parley-a2a/parley/examples/exampletest"
	"github.com/parley-a2a/parley/internal/testing/natstest"
	"github.com/parley-a2a/parley/worker"
)

// workerOf is the variable that turns the test's program into a worker: the address of the
// broker.
const workerOf = "SCALE_TO_ZERO_WORKER_OF"

func TestMain(m *testing.M) {
	if url := os.Getenv(workerOf); url != "" {
		if err := work(url); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}

// work performs one task.
func work(url string) error {
	ctx := context.Background()
	b, err := worker.Dial(ctx, url, nil)
	if err != nil {
		return err
	}
	w := &worker.Worker{Bus: b, Name: "poet", Executor: agent.Func(poem), Once: true}
	if err := w.Run(ctx); err != nil {
		return err
	}
	return b.Close()
}

// poem answers with the id of its process.
func poem(_ context.Context, _ *a2asrv.ExecutorContext, yield func(a2a.Event, error) bool) {
	yield(a2a.NewMessage(a2a.MessageRoleAgent, a2a.NewTextPart(fmt.Sprintf("poem of process %d", os.Getpid()))), nil)
}

// startHub returns the address of a hub whose agent poet is at the broker.
func startHub(t *testing.T, url string) string {
	t.Helper()
	b, err := worker.Dial(t.Context(), url, nil)
	if err != nil {
		t.Fatal(err)
	}
	queues := &parley.Queues{Bus: b, ID: "h1"}
	hub := &parley.Hub{Queues: queues}
	hub.Handle(&a2a.AgentCard{Name: "poet"}, &parley.QueueAgent{Dispatcher: queues})
	server := httptest.NewServer(hub.Handler())
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	var wg sync.WaitGroup
	wg.Go(func() {
		if err := hub.Run(ctx); err != nil {
			t.Errorf("hub: %v", err)
		}
	})
	t.Cleanup(func() {
		stop()
		wg.Wait()
		server.Close()
		if err := b.Close(); err != nil {
			t.Errorf("close the bus: %v", err)
		}
	})
	return server.URL
}

// TestScaleToZero calls an agent three times. There is a process for each call, and none in the
// end.
func TestScaleToZero(t *testing.T) {
	url := natstest.Start(t, natstest.Current(t)).URL
	t.Setenv(workerOf, url)
	hub := exampletest.Dial(t, startHub(t, url), "")
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	result := make(chan error, 1)
	go func() { // ends with ctx
		result <- run(ctx, []string{"--bus", url, "--agent", "poet", "--max", "2", "--every", "10ms", "--settle", "20s", "--", program}, io.Discard)
	}()
	seen := map[string]bool{}
	for range 3 {
		answer, err := hub.Send(t.Context(), exampletest.Say("a poem"))
		if err != nil {
			t.Fatal(err)
		}
		done, ok := answer.(*a2a.Task)
		if !ok || done.Status.State != a2a.TaskStateCompleted || len(done.Artifacts) != 1 {
			t.Fatalf("the answer is %+v, want a completed task with an artifact", answer)
		}
		text := done.Artifacts[0].Parts[0].Text()
		if seen[text] {
			t.Errorf("%q comes twice, want another process for each task", text)
		}
		seen[text] = true
	}
	stop()
	if err := <-result; err != nil {
		t.Errorf("run = %v, want nil", err)
	}
}
