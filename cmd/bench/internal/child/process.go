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

// stopTime is how long a server may take to stop before it is killed.
const stopTime = 10 * time.Second

// Process is a server that runs.
type Process struct {
	// Addr is where it listens, "host:port".
	Addr string
	// Began is the moment before the program was executed.
	Began time.Time

	cmd    *exec.Cmd
	stderr tail
	// signal says that the program ends by a signal and not by the end of its input.
	signal bool
	in     io.WriteCloser
	out    *bufio.Reader
	mu     sync.Mutex // held over one command
	once   sync.Once
	end    error
}

// Start starts a program that speaks as package serve says and waits until it listens.
func Start(ctx context.Context, cmd *exec.Cmd) (*Process, error) {
	return start(ctx, &Process{cmd: cmd}, func(line string) (string, bool) {
		var hello serve.Hello
		err := json.Unmarshal([]byte(line), &hello)
		return hello.Addr, err == nil && hello.Addr != ""
	})
}

// Spawn starts a program that prints a line with its address as a URL after the given
// word, and waits until it does.
func Spawn(ctx context.Context, cmd *exec.Cmd, word string) (*Process, error) {
	return start(ctx, &Process{cmd: cmd, signal: true}, func(line string) (string, bool) {
		f := strings.Fields(line)
		if len(f) != 2 || f[0] != word {
			return "", false
		}
		return strings.TrimPrefix(f[1], "http://"), true
	})
}

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

// Do carries out a command of package serve.
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

// Stop ends the server in good order, or kills it if that takes long. An error has
// what the server said last. Stopping a process that has been ended does nothing.
func (p *Process) Stop() error {
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

// Kill ends the server at once and without a chance to do anything, as a crash does.
func (p *Process) Kill() {
	p.once.Do(func() {
		_ = p.cmd.Process.Kill()
		_ = p.cmd.Wait() // says that it was killed
	})
}

// tail keeps the end of what was written.
type tail struct {
	mu sync.Mutex // guards b
	b  []byte
}

// maxTail is how much of a server's complaints is kept.
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

// String returns what is kept.
func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return strings.TrimSpace(string(t.b))
}
