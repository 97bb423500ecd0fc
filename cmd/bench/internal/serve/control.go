package serve

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/pprof"
	"strconv"
	"strings"
)

// Command is the first word of a line to a server.
type Command string

// The commands.
const (
	// GetStats answers with Stats.
	GetStats Command = "stats"
	// Release lets the waiting runs of Hold continue.
	Release Command = "release"
	// Await answers when the given number of runs of Hold wait.
	Await Command = "await"
	// Profile begins a processor profile, to be written to the given file, or ends it if no
	// file is given.
	Profile Command = "profile"
)

// Stats are the numbers that a server reports about itself. Servers that are not written in Go
// leave unknown numbers at zero.
type Stats struct {
	// Mallocs is the number of objects allocated since the start of the process.
	Mallocs uint64 `json:"mallocs"`
	// Heap is the size of the heap in use, in bytes.
	Heap uint64 `json:"heap"`
	// Goroutines is the number of goroutines.
	Goroutines int `json:"goroutines"`
}

// Reply is the answer to a command.
type Reply struct {
	Stats
	// Error is the reason for which the command failed.
	Error string `json:"error,omitempty"`
}

// Hello is the first line that a server prints.
type Hello struct {
	// Addr is its listen address, "host:port".
	Addr string `json:"addr"`
}

// control executes commands.
type control struct {
	gate    *gate
	profile *os.File
}

// obey answers the commands in r until it ends.
func (c *control) obey(ctx context.Context, r io.Reader, w io.Writer) error {
	out := json.NewEncoder(w)
	lines := bufio.NewScanner(r)
	for lines.Scan() {
		reply, err := c.do(ctx, lines.Text())
		if err != nil {
			reply.Error = err.Error()
		}
		if err := out.Encode(reply); err != nil {
			return err
		}
	}
	return lines.Err()
}

func (c *control) do(ctx context.Context, line string) (Reply, error) {
	name, arg, _ := strings.Cut(line, " ")
	switch Command(name) {
	case GetStats:
		return Reply{Stats: stats()}, nil
	case Release:
		c.gate.release()
		return Reply{}, nil
	case Await:
		n, err := strconv.Atoi(arg)
		if err != nil {
			return Reply{}, fmt.Errorf("await %q: %w", arg, err)
		}
		return Reply{}, c.gate.await(ctx, n)
	case Profile:
		return Reply{}, c.profileTo(arg)
	}
	return Reply{}, fmt.Errorf("no command %q", name)
}

func stats() Stats {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return Stats{Mallocs: m.Mallocs, Heap: m.HeapInuse, Goroutines: runtime.NumGoroutine()}
}

// profileTo begins a profile, or ends the current one. At the end it also writes a profile of
// the allocations since the start of the process.
func (c *control) profileTo(path string) (err error) {
	if path != "" {
		if c.profile, err = os.Create(path); err != nil {
			return err
		}
		// pprof would set 100. The kernel looks at the timers of threads 250 times a second, and
		// loses samples of threads that run shortly: a tenth at 100, hardly one at 50.
		runtime.SetCPUProfileRate(50)
		return pprof.StartCPUProfile(c.profile)
	}
	if c.profile == nil {
		return errors.New("no profile was begun")
	}
	pprof.StopCPUProfile()
	f := c.profile
	c.profile = nil
	if err := f.Close(); err != nil {
		return err
	}
	if f, err = os.Create(f.Name() + ".allocs"); err != nil {
		return err
	}
	defer f.Close()
	return pprof.Lookup("allocs").WriteTo(f, 0)
}
