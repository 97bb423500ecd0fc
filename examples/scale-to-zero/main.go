// Command scale-to-zero stands in for KEDA on one machine: it watches the queue of an agent and
// starts a worker for each waiting task. Without tasks, no worker runs.
//
//	scale-to-zero --bus nats://127.0.0.1:4222 --agent poet -- \
//	    parley agent run --once --bus nats://127.0.0.1:4222 --name poet --exec ./poet
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net/url"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/parley-a2a/parley/internal/bus"
	"github.com/parley-a2a/parley/internal/bus/amqpbus"
	"github.com/parley-a2a/parley/internal/bus/natsbus"
	"github.com/parley-a2a/parley/internal/bus/protocol"
	"github.com/parley-a2a/parley/task"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stderr); err != nil {
		fmt.Fprintln(os.Stderr, "scale-to-zero:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, stderr io.Writer) error {
	flags := flag.NewFlagSet("scale-to-zero", flag.ContinueOnError)
	flags.SetOutput(stderr)
	address := flags.String("bus", "nats://127.0.0.1:4222", "the broker: nats://… or amqp://…")
	agent := flags.String("agent", "", "the name of the agent")
	most := flags.Int("max", 4, "how many workers may run at one time")
	every := flags.Duration("every", time.Second, "how often the queue is looked at")
	settle := flags.Duration("settle", 5*time.Second, "how long a new worker has to take its task before another one is started for it")
	if err := flags.Parse(args); err != nil {
		return err
	}
	queue := protocol.JobAt(task.Agent(*agent))
	if err := queue.Check(); err != nil {
		return fmt.Errorf("--agent: %w", err)
	}
	if flags.NArg() == 0 || *most < 1 || *every <= 0 {
		return errors.New("give --max and --every above zero, and the command of a worker after --")
	}
	broker, err := open(ctx, *address)
	if err != nil {
		return fmt.Errorf("--bus: %w", err)
	}
	s := &scaler{
		broker: broker, queue: queue, command: flags.Args(), max: *most, every: *every, settle: *settle,
		log: slog.New(slog.NewTextHandler(stderr, nil)),
	}
	return errors.Join(s.run(ctx), broker.Close())
}

// operated is a bus that reports the depth of queues.
type operated interface {
	bus.Bus
	bus.Operator
}

// open connects to a broker.
func open(ctx context.Context, address string) (operated, error) {
	u, err := url.Parse(address)
	if err != nil {
		return nil, errors.New("not an address")
	}
	switch u.Scheme {
	case "nats", "tls":
		return natsbus.Open(ctx, natsbus.Options{URL: address})
	case "amqp", "amqps":
		b := &amqpbus.Bus{URL: address}
		return b, b.Check()
	}
	return nil, fmt.Errorf("scheme %q is neither nats nor amqp", u.Scheme)
}
