package command

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"time"
)

// Companion is a program that runs beside the hub and speaks with it over its standard
// input and output, such as an MCP server. It is started and ended as programs of agents
// are, and found by Reap.
type Companion struct {
	// Command is the program and its arguments.
	Command []string
	// Dir is the folder that it runs in: that of the process.
	Dir string
	// Env is added to the environment, as NAME=value.
	Env []string
	// Runs is the folder for the record that Reap reads. If empty, there is none.
	Runs string
	// Grace is the time it has to end after its input was closed, and again after
	// SIGTERM: 5 s.
	Grace time.Duration
}

// Running is a Companion that was started. Read and Write may be called side by side;
// Close ends both.
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

// start starts the program with pipes of the system for everything.
func (r *Running) start(a *Agent) error {
	var pipes [3][2]*os.File
	for i := range pipes {
		read, write, err := os.Pipe()
		if err != nil {
			closeAll(pipes)
			return err
		}
		pipes[i] = [2]*os.File{read, write}
	}
	p := &process{
		cmd:    exec.Command(a.Command[0], a.Command[1:]...),
		stdout: &outlet{file: pipes[1][0]}, stderr: &outlet{file: pipes[2][0]},
		exited: make(chan struct{}),
	}
	p.cmd.Dir, p.cmd.Env = a.Dir, r.folder.env
	p.cmd.Stdin, p.cmd.Stdout, p.cmd.Stderr = pipes[0][0], pipes[1][1], pipes[2][1]
	if err := p.begin(a, r.folder); err != nil {
		closeAll(pipes)
		return err
	}
	for _, theirs := range []*os.File{pipes[0][0], pipes[1][1], pipes[2][1]} {
		_ = theirs.Close()
	}
	r.process, r.input = p, pipes[0][1]
	return nil
}

func closeAll(pipes [3][2]*os.File) {
	for _, pair := range pipes {
		for _, f := range pair {
			if f != nil {
				_ = f.Close()
			}
		}
	}
}

// listen keeps the end of what the program says on its standard error.
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

// Read reads what the program writes to its standard output; io.EOF is its end.
func (r *Running) Read(b []byte) (int, error) {
	n, err := r.process.stdout.Read(b)
	if errors.Is(err, os.ErrClosed) {
		err = io.EOF
	}
	return n, err
}

// Write writes to the program's standard input.
func (r *Running) Write(b []byte) (int, error) { return r.input.Write(b) }

// Said is the end of what the program has said on its standard error.
func (r *Running) Said() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.said.text()
}

// Ended says how the program has ended, such as "exit status 2"; empty while it runs.
func (r *Running) Ended() string {
	select {
	case <-r.process.exited:
		e := ending{state: r.process.state, err: r.process.err}
		return e.String()
	default:
		return ""
	}
}

// Close ends the program: it closes its input, and what does not end by that is told to
// end, and then killed, with all of its group. It returns when nothing is left.
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
