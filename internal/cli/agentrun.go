package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/agent"
	"github.com/parley-a2a/parley/client"
	"github.com/parley-a2a/parley/internal/agents/command"
	"github.com/parley-a2a/parley/internal/bus"
	"github.com/parley-a2a/parley/internal/bus/natsbus"
	"github.com/parley-a2a/parley/internal/bus/protocol"
	"github.com/parley-a2a/parley/internal/config"
	"github.com/parley-a2a/parley/internal/file/textfile"
	"github.com/parley-a2a/parley/internal/heap"
	"github.com/parley-a2a/parley/internal/outbound/card"
	"github.com/parley-a2a/parley/internal/server"
	"github.com/parley-a2a/parley/task"
	"github.com/parley-a2a/parley/worker"
)

type agentCmd struct {
	Run agentRunCmd `cmd:"" help:"Run a program as a queue worker of an agent."`
}

type agentRunCmd struct {
	Bus         string        `help:"The address of the broker: nats://, tls://, amqp:// or amqps:// ($$PARLEY_BUS); by default, the broker of the hub with the data folder --data." from:"PARLEY_BUS" placeholder:"URL"`
	Data        string        `help:"The data folder of a hub on this machine, which names its broker (./parley-data; $$PARLEY_DATA)." from:"PARLEY_DATA" placeholder:"DIR"`
	BusKey      string        `name:"bus-key" help:"The key of the agent at the broker of a hub, which is sent over tls:// only ($$PARLEY_BUS_KEY)." from:"PARLEY_BUS_KEY" placeholder:"KEY"`
	CA          string        `name:"ca" help:"The PEM certificate of the authority that has signed the broker's certificate, or the broker's own." placeholder:"FILE"`
	Name        string        `help:"The name of the agent on the bus; by default the name in its card." placeholder:"NAME"`
	Exec        string        `help:"The program, run by /bin/sh for each message; or give it after --." placeholder:"CMD"`
	Program     []string      `arg:"" optional:"" passthrough:"" help:"The program and its arguments, after --."`
	Dir         string        `help:"The folder that the program runs in." placeholder:"DIR"`
	Card        string        `help:"A file with the agent's card, as JSON." placeholder:"FILE"`
	Description string        `help:"The description of the agent, for its card." placeholder:"TEXT"`
	Skill       []string      `help:"A skill for its card. May be repeated." placeholder:"ID"`
	Concurrency int           `help:"The maximum number of concurrent tasks (8)." default:"8" placeholder:"N"`
	Once        bool          `help:"Exit after one task, or after --idle without one."`
	Idle        time.Duration `help:"Exit after this time without a task or a broker; with --once, 30s by default." placeholder:"TIME"`
	Timeout     time.Duration `help:"Kill the program if it runs longer than this." placeholder:"TIME"`
	Drain       time.Duration `help:"How long tasks may continue after SIGTERM, before they are returned to the queue (10s)." default:"10s" placeholder:"TIME"`
	Idempotent  bool          `help:"Tasks are safe to repeat: if this worker is lost, another one may perform its message again."`
	Serial      bool          `help:"Perform the tasks of each context one at a time."`
	HubKey      []string      `name:"hub-key" help:"Trust only this hub, HUB:KEY as parley serve logs it. May be repeated." placeholder:"KEY"`
	LogLevel    string        `help:"The minimum log level: debug, info, warn or error." enum:"debug,info,warn,error" default:"info" placeholder:"LEVEL"`
}

// Run performs tasks until it is interrupted.
func (c *agentRunCmd) Run(ctx context.Context, o *OS) error {
	w, err := c.worker()
	if err != nil {
		return err
	}
	heap.Floor(heap.Size)
	w.Logger = newLogger(o.Stderr, config.Log{Level: c.LogLevel}, new(slog.LevelVar))
	x, _ := w.Executor.(*command.Agent)
	runs, err := openWorkerRuns(os.TempDir(), w.Logger)
	if err != nil {
		return err
	}
	defer func() { _ = runs.close() }() // the next worker removes the rest
	x.Runs = runs.path
	return o.interruptible(ctx, func(in interrupts) error {
		if w.Bus, w.Keys, err = c.open(in.soft, w); err != nil {
			return err
		}
		done := make(chan error, 1)
		go func() { done <- errors.Join(w.Run(in.soft), w.Bus.Close()) }() // ends with in.soft, or with the process
		select {
		case err = <-done:
		case <-in.hard.Done():
			return &exit{exitFailed, errors.New("stopped immediately; hubs hand the tasks to other workers, or fail them")}
		}
		if errors.Is(err, worker.ErrWorker) {
			return usagef("%w", err)
		}
		if errors.Is(err, natsbus.ErrRefused) {
			return c.refused(busNameOf(w))
		}
		return unreachable(err)
	})
}

// unreachable adds client.ErrUnreachable to an error about an unreachable broker.
func unreachable(err error) error {
	if errors.Is(err, bus.ErrUnavailable) {
		return fmt.Errorf("%w: %w", client.ErrUnreachable, err)
	}
	return err
}

// open connects to the broker and returns the keys of the trusted hubs.
func (c *agentRunCmd) open(ctx context.Context, w *worker.Worker) (bus.Bus, *bus.Keyring, error) {
	var keys []bus.HubKey
	for _, text := range c.HubKey {
		k, err := bus.ParseHubKey(text)
		if err != nil {
			return nil, nil, usagef("--hub-key: %w", err)
		}
		keys = append(keys, k)
	}
	var b bus.Bus
	var err error
	switch secured := c.BusKey != "" || c.CA != ""; {
	case c.Bus == "" && secured:
		err = usagef("--bus-key ($PARLEY_BUS_KEY) and --ca require --bus tls://HOST:PORT")
	case c.Bus == "":
		var own []bus.HubKey
		if b, own, err = openBusOf(ctx, cmp.Or(c.Data, defaultData), w.Logger); len(keys) == 0 {
			keys = own
		}
	case secured:
		b, err = c.openKeyed(ctx, busNameOf(w), natsbus.Options{Logger: w.Logger})
	default:
		b, err = server.DialBus(ctx, c.Bus, "--bus", w.Logger)
	}
	if err != nil || len(keys) == 0 {
		return b, nil, unreachable(err)
	}
	ring, err := bus.NewKeyring(keys...)
	if err != nil {
		return nil, nil, errors.Join(err, b.Close())
	}
	return b, ring, nil
}

// busNameOf returns the name of a worker's agent on the bus, in its spelling there.
func busNameOf(w *worker.Worker) task.Agent { return cmp.Or(w.Name, task.AgentNamed(w.Card.Name)) }

// worker creates the worker from the flags.
func (c *agentRunCmd) worker() (*worker.Worker, error) {
	program := c.Program
	if len(program) > 0 && program[0] == "--" {
		program = program[1:]
	}
	switch {
	case c.Exec != "" && len(program) > 0:
		return nil, usagef("give the program either with --exec or after --")
	case c.Exec == "" && len(program) == 0:
		return nil, usagef("a program is required: set --exec CMD, or give it after --")
	case c.Concurrency < 1:
		return nil, usagef("--concurrency must be at least 1")
	case c.Idle < 0 || c.Timeout < 0:
		return nil, usagef("times must not be negative")
	case c.Exec != "":
		program = []string{"/bin/sh", "-c", c.Exec}
	}
	described, err := c.card()
	if err != nil {
		return nil, err
	}
	if err := c.check(program[0]); err != nil {
		return nil, err
	}
	drain := c.Drain
	if drain == 0 {
		drain = -1
	}
	after := agent.Fail
	if c.Idempotent {
		after = agent.Repeat
	}
	return &worker.Worker{
		Name: task.Agent(c.Name), Card: described, Concurrency: c.Concurrency, Once: c.Once, Idle: c.Idle, DrainTimeout: drain,
		Executor: &command.Agent{
			Command: program, Dir: c.Dir, Inherit: true, Timeout: c.Timeout, AfterCrash: after, Serial: c.Serial, Silence: -1,
		},
	}, nil
}

// check refuses settings with which every task would fail.
func (c *agentRunCmd) check(program string) error {
	if c.Name != "" {
		if err := protocol.JobAt(task.Agent(c.Name)).Check(); err != nil {
			return usagef("--name: %w", err)
		}
	}
	if c.Dir != "" {
		if info, err := os.Stat(c.Dir); err != nil {
			return usagef("--dir: %w", err)
		} else if !info.IsDir() {
			return usagef("--dir: %s is not a folder", c.Dir)
		}
		if strings.Contains(program, "/") {
			return nil // relative to that folder
		}
	}
	if _, err := exec.LookPath(program); err != nil {
		return usagef("the program cannot be run: %w", err)
	}
	return nil
}

// card returns the card of the agent, from the flags and the file.
func (c *agentRunCmd) card() (*a2a.AgentCard, error) {
	described := &a2a.AgentCard{Name: c.Name, Version: "1.0.0"}
	if c.Card != "" {
		text, err := textfile.Read(c.Card)
		if err != nil {
			return nil, usagef("--card: %w", err)
		}
		read, err := card.Read(text)
		if err != nil {
			return nil, usagef("--card: %s: %w", c.Card, err)
		}
		described = read.A2A
	}
	if described.Name == "" {
		return nil, usagef("the agent has no name: set --name or --card")
	}
	described.Description = cmp.Or(c.Description, described.Description, "The agent "+described.Name+".")
	for _, id := range c.Skill {
		described.Skills = append(described.Skills, a2a.AgentSkill{ID: id, Name: id, Description: described.Description})
	}
	if len(described.Skills) == 0 {
		id := string(task.AgentNamed(described.Name))
		described.Skills = []a2a.AgentSkill{{ID: id, Name: described.Name, Description: described.Description}}
	}
	plain := []string{"text/plain"}
	if len(described.DefaultInputModes) == 0 {
		described.DefaultInputModes = plain
	}
	if len(described.DefaultOutputModes) == 0 {
		described.DefaultOutputModes = plain
	}
	return described, nil
}
