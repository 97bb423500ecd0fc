package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"sync"
	"time"

	"github.com/parley-a2a/parley/bus"
)

// scaler starts a process for each envelope that waits in a queue, up to a limit. Each
// process performs one task and ends.
type scaler struct {
	// broker says how much waits.
	broker bus.Operator
	queue  bus.Address
	// command is what is started: a program and its arguments.
	command []string
	// max is how many processes there may be at one time.
	max int
	// every is the time between two looks at the queue.
	every time.Duration
	// settle is how long a new process gets to take its task: until then it counts as one
	// that will.
	settle time.Duration
	log    *slog.Logger

	mu      sync.Mutex // guards the field below
	running map[*exec.Cmd]time.Time
}

// run looks at the queue until ctx ends, and then waits for the processes, which are asked
// to end.
func (s *scaler) run(ctx context.Context) error {
	s.running = map[*exec.Cmd]time.Time{}
	var processes sync.WaitGroup
	defer processes.Wait()
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	ticks := time.NewTicker(s.every)
	defer ticks.Stop()
	for {
		depth, err := s.broker.Depth(ctx, s.queue)
		switch {
		case ctx.Err() != nil:
			return nil
		case errors.Is(err, bus.ErrUnavailable):
			s.log.Warn("broker is not there", "error", err)
		case err != nil:
			return fmt.Errorf("look at %s: %w", s.queue, err)
		}
		for range s.wanted(depth.Ready, time.Now()) {
			if err := s.start(ctx, &processes); err != nil {
				return err
			}
		}
		select {
		case <-ctx.Done():
			return nil
		case <-ticks.C:
		}
	}
}

// wanted returns how many processes are to be started when so many envelopes wait.
func (s *scaler) wanted(ready int64, now time.Time) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	coming := 0 // have been started, and may not have taken anything yet
	for _, since := range s.running {
		if now.Sub(since) < s.settle {
			coming++
		}
	}
	return max(0, min(int(ready)-coming, s.max-len(s.running)))
}

// start starts a process.
func (s *scaler) start(ctx context.Context, processes *sync.WaitGroup) error {
	cmd := exec.CommandContext(ctx, s.command[0], s.command[1:]...)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 30 * time.Second // for what it has begun
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start a worker: %w", err)
	}
	s.note(func() { s.running[cmd] = time.Now() })
	s.log.Info("worker started", "pid", cmd.Process.Pid)
	processes.Go(func() {
		err := cmd.Wait()
		s.note(func() { delete(s.running, cmd) })
		s.log.Info("worker ended", "pid", cmd.Process.Pid, "error", err)
	})
	return nil
}

// note changes what is running.
func (s *scaler) note(change func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change()
}
