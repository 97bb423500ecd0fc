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

	"github.com/parley-a2a/parley/task"
	"github.com/parley-a2a/parley/worker"
)

// scaler starts a process for each waiting envelope of a queue, up to a limit. Each process
// performs one task and ends.
type scaler struct {
	// waiting returns the number of tasks of the agent that wait for a worker.
	waiting func(context.Context) (int64, error)
	agent   task.Agent
	// command is the program to start, with its arguments.
	command []string
	// max is the largest number of simultaneous processes.
	max int
	// every is the time between two checks of the queue.
	every time.Duration
	// settle is the time in which a new process claims its task: until then it counts as one
	// that will.
	settle time.Duration
	log    *slog.Logger

	mu      sync.Mutex // guards the field below
	running map[*exec.Cmd]time.Time
}

// run checks the queue until ctx ends. Then it interrupts the processes and waits for them.
func (s *scaler) run(ctx context.Context) error {
	s.running = map[*exec.Cmd]time.Time{}
	var processes sync.WaitGroup
	defer processes.Wait()
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	ticks := time.NewTicker(s.every)
	defer ticks.Stop()
	for {
		ready, err := s.waiting(ctx)
		switch {
		case ctx.Err() != nil:
			return nil
		case errors.Is(err, worker.ErrUnavailable):
			s.log.Warn("broker is not there", "error", err)
		case err != nil:
			return fmt.Errorf("tasks of %s: %w", s.agent, err)
		}
		for range s.wanted(ready, time.Now()) {
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

// wanted returns the number of processes to start when ready envelopes wait.
func (s *scaler) wanted(ready int64, now time.Time) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	coming := 0 // were started, and may not have claimed a task yet
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
	cmd.WaitDelay = 30 * time.Second // for its current task
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

// note changes running.
func (s *scaler) note(change func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change()
}
