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
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/parley-a2a/parley/task"
	"github.com/parley-a2a/parley/worker"
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
	name := task.Agent(*agent)
	if name != task.AgentNamed(*agent) || name == "" {
		return fmt.Errorf("--agent: invalid agent name %q", *agent)
	}
	if flags.NArg() == 0 || *most < 1 || *every <= 0 {
		return errors.New("give --max and --every above zero, and the command of a worker after --")
	}
	broker, err := worker.Dial(ctx, *address, nil)
	if err != nil {
		return fmt.Errorf("--bus: %w", err)
	}
	s := &scaler{
		waiting: func(ctx context.Context) (int64, error) { return worker.Waiting(ctx, broker, name) },
		agent:   name, command: flags.Args(), max: *most, every: *every, settle: *settle,
		log: slog.New(slog.NewTextHandler(stderr, nil)),
	}
	return errors.Join(s.run(ctx), broker.Close())
}
