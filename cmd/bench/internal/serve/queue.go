package serve

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"

	"github.com/a2aproject/a2a-go/v2/a2asrv"

	"github.com/parley-a2a/parley/agent"
	"github.com/parley-a2a/parley/cmd/bench/internal/reply"
	"github.com/parley-a2a/parley/internal/agents/queue"
	"github.com/parley-a2a/parley/internal/bus"
	"github.com/parley-a2a/parley/internal/bus/amqpbus"
	"github.com/parley-a2a/parley/internal/bus/natsbus"
	"github.com/parley-a2a/parley/internal/task"
	"github.com/parley-a2a/parley/worker"
)

// OpenBus connects to a broker.
func OpenBus(ctx context.Context, address string) (bus.Bus, error) {
	u, err := url.Parse(address)
	if err != nil {
		return nil, err
	}
	switch u.Scheme {
	case "nats":
		return natsbus.Open(ctx, natsbus.Options{URL: address})
	case "amqp":
		return &amqpbus.Bus{URL: address}, nil
	}
	return nil, fmt.Errorf("no bus is known for %q", u.Scheme)
}

// atQueue returns the agent whose tasks workers at a bus perform, and a function that stops its
// dispatcher.
func (o *Options) atQueue(store task.Store) (a2asrv.AgentExecutor, func() error, error) {
	ctx, stop := context.WithCancel(context.Background())
	b, err := OpenBus(ctx, o.Bus)
	if err != nil {
		stop()
		return nil, nil, err
	}
	signer, err := bus.NewSigner("bench", nil)
	if err != nil {
		stop()
		return nil, nil, errors.Join(err, b.Close())
	}
	d := &queue.Dispatcher{Bus: b, ID: signer.Hub(), Tasks: store, Signer: signer}
	done := make(chan error, 1)
	go func() { done <- d.Run(ctx) }() // the returned function waits for it
	return &queue.Agent{Dispatcher: d}, func() error {
		stop()
		return errors.Join(<-done, b.Close())
	}, nil
}

// busServer performs the tasks of a queue with the agent of the bench.
type busServer struct {
	bus  bus.Bus
	gate *gate
}

func (s *busServer) Serve(ctx context.Context, _ net.Listener) error {
	x := agent.With(executor{s.gate}, agent.Traits{AfterCrash: agent.Repeat, NoMessage: true})
	return (&worker.Worker{Bus: s.bus, Name: AgentName, Executor: x, Concurrency: workers}).Run(ctx)
}

// workers is the number of tasks that a worker performs concurrently.
const workers = 256

func (o *Options) worker(g *gate) (server, func() error, error) {
	b, err := OpenBus(context.Background(), o.Bus)
	if err != nil {
		return nil, nil, err
	}
	return &busServer{b, g}, b.Close, nil
}

// replier answers requests at a broker.
type replier struct{ address string }

func (r replier) Serve(ctx context.Context, _ net.Listener) error { return reply.Serve(ctx, r.address) }
