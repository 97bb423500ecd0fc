package workertest

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/parley-a2a/parley/internal/bus"
	"github.com/parley-a2a/parley/internal/bus/amqpbus"
	"github.com/parley-a2a/parley/internal/bus/natsbus"
	"github.com/parley-a2a/parley/worker"
)

// TestGo tests the worker in Go, so that the transcripts are true.
func TestGo(t *testing.T) {
	t.Parallel()
	Run(t, Suite{Start: startGo})
}

// startGo starts a worker in this process.
func startGo(t *testing.T, url, key string) Running {
	t.Helper()
	hub, err := bus.ParseHubKey(key)
	if err != nil {
		t.Fatal(err)
	}
	keys, err := bus.NewKeyring(hub)
	if err != nil {
		t.Fatal(err)
	}
	return runGo(t, url, &worker.Worker{Name: Agent, Executor: Executor{}, Keys: keys, DrainTimeout: -1})
}

func runGo(t *testing.T, url string, w *worker.Worker) Running {
	t.Helper()
	var b bus.Bus = &amqpbus.Bus{URL: url}
	if strings.HasPrefix(url, "nats:") {
		var err error
		if b, err = natsbus.Open(t.Context(), natsbus.Options{URL: url}); err != nil {
			t.Fatal(err)
		}
	}
	w.Bus = b
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- errors.Join(w.Run(ctx), b.Close()) }() // the cleanup waits for it
	result := func() error {
		err := <-ended
		ended <- err
		return err
	}
	t.Cleanup(func() {
		stop()
		_ = result()
	})
	return Running{Stop: stop, Ended: result}
}

// TestCommand tests the command of the flag -worker.
func TestCommand(t *testing.T) {
	t.Parallel()
	if *workerFlag == "" {
		return
	}
	Run(t, Suite{Start: Command("/bin/sh", "-c", "exec "+*workerFlag+` "$@"`, "worker")})
}
