package main

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"os/exec"
	"strings"
	"testing"
	"time"
)

func TestWanted(t *testing.T) {
	t.Parallel()
	now := time.Now()
	for _, tc := range []struct {
		name     string
		ready    int64
		old, new int // processes that have had time to claim a task, and others
		want     int
	}{
		{"nothing waits", 0, 0, 0, 0},
		{"one waits", 1, 0, 0, 1},
		{"more than may run", 9, 0, 0, 4},
		{"some are busy", 9, 3, 0, 1},
		{"all are busy", 9, 4, 0, 0},
		{"one is coming for it", 1, 0, 1, 0},
		{"one is coming, two wait", 2, 0, 1, 1},
		{"more are coming than wait", 1, 0, 3, 0},
	} {
		s := &scaler{max: 4, settle: time.Second, running: map[*exec.Cmd]time.Time{}}
		for range tc.old {
			s.running[new(exec.Cmd)] = now.Add(-time.Second)
		}
		for range tc.new {
			s.running[new(exec.Cmd)] = now
		}
		if got := s.wanted(tc.ready, now); got != tc.want {
			t.Errorf("%s: wanted = %d, want %d", tc.name, got, tc.want)
		}
	}
}

// depths has the numbers of waiting tasks that the test sends.
type depths chan int64

func (d depths) next(ctx context.Context) (int64, error) {
	select {
	case n, ok := <-d:
		if !ok {
			return 0, errors.New("no such broker")
		}
		return n, nil
	case <-ctx.Done():
		return 0, ctx.Err()
	}
}

// start runs a scaler whose workers run until finish is called.
func start(t *testing.T) (s *scaler, queue depths, result chan error) {
	t.Helper()
	queue = make(depths)
	s = &scaler{
		waiting: queue.next, agent: "poet", command: []string{"sleep", "3600"}, max: 2, every: time.Millisecond,
		settle: time.Hour, log: slog.New(slog.DiscardHandler),
	}
	result = make(chan error, 1)
	ctx, cancel := context.WithCancel(t.Context())
	go func() { result <- s.run(ctx); close(result) }() // ends with ctx
	t.Cleanup(func() {
		cancel()
		<-result
	})
	return s, queue, result
}

// finish ends the workers.
func (s *scaler) finish(t *testing.T) {
	t.Helper()
	s.note(func() {
		for cmd := range s.running {
			if err := cmd.Process.Kill(); err != nil {
				t.Error(err)
			}
		}
	})
}

func (s *scaler) count() (n int) {
	s.note(func() { n = len(s.running) })
	return n
}

// TestScaler lets tasks come and go.
func TestScaler(t *testing.T) {
	t.Parallel()
	s, queue, _ := start(t)
	for _, step := range []struct {
		ready int64
		want  int
	}{{0, 0}, {1, 1}, {1, 1}, {5, 2}, {5, 2}} {
		queue <- step.ready
		queue <- 0 // when this is received, the processes are running
		if got := s.count(); got != step.want {
			t.Fatalf("%d processes while %d wait, want %d", got, step.ready, step.want)
		}
	}
	s.finish(t)
	for s.count() > 0 {
		queue <- 0
	}
	queue <- 1
	queue <- 0
	if got := s.count(); got != 1 {
		t.Errorf("%d processes for one that waits after the others have ended, want 1", got)
	}
}

// TestScalerEnds checks that the scaler interrupts its workers.
func TestScalerEnds(t *testing.T) {
	t.Parallel()
	s, queue, result := start(t)
	queue <- 2
	queue <- 0
	close(queue)
	if err := <-result; err == nil || !strings.Contains(err.Error(), "tasks of poet: no such broker") {
		t.Errorf("run = %v, want an error with the queue", err)
	}
	if got := s.count(); got != 0 {
		t.Errorf("%d processes are left, want none", got)
	}
}

func TestRunRefuses(t *testing.T) {
	t.Parallel()
	for want, args := range map[string][]string{
		"--agent":                           {"--agent", "no name", "--", "true"},
		"the command of a worker":           {"--agent", "poet"},
		"--max and --every above zero":      {"--agent", "poet", "--max", "0", "--", "true"},
		"must begin with nats://":           {"--agent", "poet", "--bus", "http://x", "--", "true"},
		"address of RabbitMQ is not amqp:/": {"--agent", "poet", "--bus", "amqp:///", "--", "true"},
		"flag provided but not defined":     {"--many", "1"},
	} {
		if err := run(t.Context(), args, io.Discard); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("run(%q) = %v, want %q", args, err, want)
		}
	}
}
