package command

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"time"
)

// Companion is a program that runs beside the hub and exchanges data with it over standard
// input and output, such as an MCP server. It is started and ended like the programs of agents,
// and found by Reap.
type Companion struct {
	// Command is the program and its arguments.
	Command []string
	// Dir is the working folder. If empty, it is the hub's.
	Dir string
	// Env is added to the environment, as NAME=value.
	Env []string
	// Runs is the folder for the record that Reap reads. If empty, there is no record.
	Runs string
	// Grace is the time to end after its input was closed, and again after SIGTERM. The default
	// is 5 s.
	Grace time.Duration
}

// Running is a started Companion. Read and Write may be called concurrently; Close ends both.
type Running struct {
	process *process
	folder  *folder
	input   *os.File
	grace   time.Duration
	wg      sync.WaitGroup
	once    sync.Once

	mu   sync.Mutex // guards said
	said tail
}

// Start starts the program.
func (c *Companion) Start() (*Running, error) {
	if len(c.Command) == 0 {
		return nil, errors.New("start program: there is no command")
	}
	a := &Agent{Command: c.Command, Dir: c.Dir, Env: c.Env, Runs: c.Runs}
	f, err := emptyFolder(a)
	if err != nil {
		return nil, fmt.Errorf("start program: %w", err)
	}
	r := &Running{folder: f, grace: cmp.Or(c.Grace, DefaultGrace)}
	f.env = environment(a, map[string]string{runDir: f.path})
	if err = f.record(); err == nil {
		err = r.start(a)
	}
	if err != nil {
		f.remove()
		return nil, fmt.Errorf("start program: %w", err)
	}
	r.wg.Go(r.process.wait)
	r.wg.Go(r.listen)
	return r, nil
}

// start starts the program with an OS pipe as its input.
func (r *Running) start(a *Agent) error {
	read, write, err := os.Pipe()
	if err != nil {
		return err
	}
	defer func() { _ = read.Close() }()
	if r.process, err = startReading(a, r.folder, read); err != nil {
		_ = write.Close()
		return err
	}
	r.input = write
	return nil
}

// listen stores the end of the program's standard error.
func (r *Running) listen() {
	b := make([]byte, 4<<10)
	for {
		n, err := r.process.stderr.Read(b)
		r.mu.Lock()
		_, _ = r.said.Write(b[:n])
		r.mu.Unlock()
		if err != nil {
			return
		}
	}
}

// Read reads from the program's standard output. It returns io.EOF at its end.
func (r *Running) Read(b []byte) (int, error) {
	n, err := r.process.stdout.Read(b)
	if errors.Is(err, os.ErrClosed) {
		err = io.EOF
	}
	return n, err
}

// Write writes to the program's standard input.
func (r *Running) Write(b []byte) (int, error) { return r.input.Write(b) }

// Output returns the end of the program's standard error.
func (r *Running) Output() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.said.text()
}

// Ended describes the exit of the program, such as "exit status 2"; empty while it runs.
func (r *Running) Ended() string {
	select {
	case <-r.process.exited:
		e := ending{state: r.process.state, err: r.process.err}
		return e.String()
	default:
		return ""
	}
}

// Close ends the program. It closes its input, then sends SIGTERM, and then kills the whole
// process group. It returns when no process is left.
func (r *Running) Close() error {
	r.once.Do(func() {
		_ = r.input.Close()
		for _, s := range []strength{gentle, hardest} {
			if r.ends(r.grace) {
				break
			}
			r.process.signal(s)
		}
		r.wg.Wait()
		r.process.close()
		r.folder.remove()
	})
	return nil
}

// ends reports whether the program ends within d.
func (r *Running) ends(d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-r.process.exited:
		return true
	case <-timer.C:
		return false
	}
}
