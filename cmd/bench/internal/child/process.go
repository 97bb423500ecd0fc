package child

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"time"

	"github.com/parley-a2a/parley/cmd/bench/internal/serve"
)

// stopTime is the time limit for a server's stop, after which it is killed.
const stopTime = 10 * time.Second

// Process is a running server.
type Process struct {
	// Addr is its listen address, "host:port".
	Addr string
	// Began is the time before the program was executed.
	Began time.Time
	// Database is the id of the process whose children work for the server; zero if there is none.
	Database int

	cmd    *exec.Cmd
	stderr tail
	// signal is set if the program ends on a signal instead of at the end of its input.
	signal bool
	in     io.WriteCloser
	out    *bufio.Reader
	mu     sync.Mutex // held during one command
	once   sync.Once
	end    error
}

// Start starts a program with the line protocol of package serve and waits until it listens.
func Start(ctx context.Context, cmd *exec.Cmd) (*Process, error) {
	return start(ctx, &Process{cmd: cmd}, func(line string) (string, bool) {
		var hello serve.Hello
		err := json.Unmarshal([]byte(line), &hello)
		return hello.Addr, err == nil && hello.Addr != ""
	})
}

// Spawn starts a program and waits until it prints a line with its address as a URL after the
// given word.
func Spawn(ctx context.Context, cmd *exec.Cmd, word string) (*Process, error) {
	return start(ctx, &Process{cmd: cmd, signal: true}, func(line string) (string, bool) {
		f := strings.Fields(line)
		if len(f) != 2 || f[0] != word {
			return "", false
		}
		return strings.TrimPrefix(f[1], "http://"), true
	})
}

// Launch starts a program that listens on addr and prints nothing to wait for. Stop kills it.
func Launch(cmd *exec.Cmd, addr string) (*Process, error) {
	p := &Process{cmd: cmd, Addr: addr, Began: time.Now()}
	cmd.Stdout, cmd.Stderr = &p.stderr, &p.stderr
	dieWithParent(cmd)
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", cmd.Path, err)
	}
	return p, nil
}

// Output returns the end of the program's error output, and of all output after Launch.
func (p *Process) Output() string { return p.stderr.String() }

func start(ctx context.Context, p *Process, addr func(line string) (string, bool)) (*Process, error) {
	if err := p.begin(); err != nil {
		return nil, fmt.Errorf("start %s: %w", p.cmd.Path, err)
	}
	stop := context.AfterFunc(ctx, func() { _ = p.cmd.Process.Kill() })
	defer stop()
	for {
		line, err := p.out.ReadString('\n')
		if err != nil {
			p.Kill()
			return nil, fmt.Errorf("start %s: %w: %s", p.cmd.Path, err, p.stderr.String())
		}
		var ok bool
		if p.Addr, ok = addr(line); ok {
			return p, nil
		}
	}
}

func (p *Process) begin() (err error) {
	if p.in, err = p.cmd.StdinPipe(); err != nil {
		return err
	}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		return err
	}
	p.out = bufio.NewReader(out)
	p.cmd.Stderr = &p.stderr
	dieWithParent(p.cmd)
	p.Began = time.Now()
	return p.cmd.Start()
}

// PID returns the id of the process.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// Do sends a command of package serve and returns the reply.
func (p *Process) Do(ctx context.Context, c serve.Command, arg string) (serve.Reply, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	stop := context.AfterFunc(ctx, func() { _ = p.cmd.Process.Kill() })
	defer stop()
	var r serve.Reply
	if _, err := fmt.Fprintln(p.in, strings.TrimSpace(string(c)+" "+arg)); err != nil {
		return r, fmt.Errorf("command %s: %w", c, err)
	}
	line, err := p.out.ReadBytes('\n')
	if err != nil {
		return r, fmt.Errorf("command %s: %w", c, errors.Join(err, context.Cause(ctx)))
	}
	if err := json.Unmarshal(line, &r); err != nil {
		return r, fmt.Errorf("command %s: reply %q: %w", c, line, err)
	}
	if r.Error != "" {
		return r, fmt.Errorf("command %s: %s", c, r.Error)
	}
	return r, nil
}

// Stop shuts the server down, or kills it after stopTime. An error contains the server's last
// output. On an ended process Stop does nothing.
func (p *Process) Stop() error {
	if p.in == nil {
		p.Kill()
		return nil
	}
	p.once.Do(func() {
		p.in.Close()
		if p.signal {
			_ = p.cmd.Process.Signal(os.Interrupt)
		}
		timer := time.AfterFunc(stopTime, func() { _ = p.cmd.Process.Kill() })
		defer timer.Stop()
		if err := p.cmd.Wait(); err != nil {
			p.end = fmt.Errorf("stop %s: %w: %s", p.cmd.Path, err, p.stderr.String())
		}
	})
	return p.end
}

// Kill ends the server at once without a shutdown, like a crash.
func (p *Process) Kill() {
	p.once.Do(func() {
		_ = p.cmd.Process.Kill()
		_ = p.cmd.Wait() // the error states that it was killed
	})
}

// tail keeps the end of the written bytes.
type tail struct {
	mu sync.Mutex // guards b
	b  []byte
}

// maxTail is the number of bytes of a server's error output that are kept.
const maxTail = 4096

// Write implements io.Writer.
func (t *tail) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.b = append(t.b, b...)
	if n := len(t.b) - maxTail; n > 0 {
		t.b = t.b[:copy(t.b, t.b[n:])]
	}
	return len(b), nil
}

// String returns the kept bytes.
func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return strings.TrimSpace(string(t.b))
}
