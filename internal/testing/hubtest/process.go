package hubtest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"
)

// patience is the time limit for the start and the stop of a hub.
const patience = 2 * time.Minute

// Command describes a process: a program with its arguments.
type Command struct {
	// Path is the path of another program; "" is the parley command.
	Path string
	// Args are the arguments, such as "serve".
	Args []string
	// Dir is the working directory; "" is the one of the test.
	Dir string
	// Env are variables ("NAME=value") in addition to those of the test. Variables of the test
	// that begin with PARLEY_ are removed.
	Env []string
}

// Process is one run of a command. It ends by itself, or through [Process.Kill] or
// [Process.Interrupt].
type Process struct {
	cmd  *exec.Cmd
	out  *output
	done chan struct{}
}

// Launch starts the command without waiting for it. The process is killed at the end of the
// test.
func Launch(tb testing.TB, c Command) *Process {
	tb.Helper()
	path := c.Path
	if path == "" {
		path = Binary(tb)
	}
	p, err := launch(path, c)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(p.Kill)
	return p
}

func launch(bin string, c Command) (*Process, error) {
	p := &Process{cmd: exec.Command(bin, c.Args...), out: newOutput(), done: make(chan struct{})}
	p.cmd.Dir, p.cmd.Env = c.Dir, environment(c.Env)
	p.cmd.Stdout, p.cmd.Stderr = p.out, p.out
	p.cmd.WaitDelay = 5 * time.Second // for programs that a killed hub left running
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	go func() { // ends with the process
		_ = p.cmd.Wait()
		close(p.done) // before the waits end: a caller of Await may launch the next process
		p.out.end()
	}()
	return p, nil
}

// environment returns the variables of the test, without those that would point the command to
// the user's own hubs, followed by more.
func environment(more []string) []string {
	var all []string
	for _, v := range os.Environ() {
		if !strings.HasPrefix(v, "PARLEY_") {
			all = append(all, v)
		}
	}
	return append(all, more...)
}

// PID returns the process id.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// Done returns a channel that is closed when the process has ended.
func (p *Process) Done() <-chan struct{} { return p.done }

// Kill ends the process at once, as kill -9 does, and waits for its end. On an ended process it
// does nothing.
func (p *Process) Kill() {
	_ = p.cmd.Process.Kill()
	<-p.done
}

// Interrupt sends the process an interrupt and waits until it has ended. It returns an error if
// the process exits with an error, or does not end within two minutes.
func (p *Process) Interrupt() error {
	if err := p.cmd.Process.Signal(os.Interrupt); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("interrupt: %w", err)
	}
	select {
	case <-p.done:
	case <-time.After(patience):
		return fmt.Errorf("process %d runs %v after an interrupt:\n%s", p.PID(), patience, p.Output())
	}
	if code := p.cmd.ProcessState.ExitCode(); code != 0 {
		return fmt.Errorf("exit code %d:\n%s", code, p.Output())
	}
	return nil
}

// Await waits until the process has written one of texts since its launch. It returns an error
// if the process ends without having written any of them, or if ctx ends.
func (p *Process) Await(ctx context.Context, texts ...string) error {
	select {
	case text := <-p.out.wait(texts):
		if text {
			return nil
		}
		return fmt.Errorf("process %d ended without saying %q:\n%s", p.PID(), texts, p.Output())
	case <-ctx.Done():
		return fmt.Errorf("process %d does not say %q: %w:\n%s", p.PID(), texts, context.Cause(ctx), p.Output())
	}
}

// Output returns the end of the process's standard output and standard error.
func (p *Process) Output() string { return p.out.String() }

// kept is the number of output bytes that are kept.
const kept = 256 << 10

// output keeps the end of a process's output.
type output struct {
	mu    sync.Mutex // guards the fields below
	text  []byte
	ended bool
	waits []wait
}

// wait is a pending call of Await. It gets one value: true if one of texts was written.
type wait struct {
	texts []string
	told  chan bool
}

func newOutput() *output { return new(output) }

// Write implements io.Writer.
func (o *output) Write(b []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.text = append(o.text, b...)
	o.notifyLocked()
	if extra := len(o.text) - kept; extra > 0 {
		o.text = append([]byte(nil), o.text[extra:]...)
	}
	return len(b), nil
}

// end marks the end of the output.
func (o *output) end() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.ended = true
	o.notifyLocked()
}

// wait returns a channel that receives true once one of texts has been written, or false if the
// output ends before.
func (o *output) wait(texts []string) <-chan bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	w := wait{texts, make(chan bool, 1)}
	o.waits = append(o.waits, w)
	o.notifyLocked()
	return w.told
}

// notifyLocked notifies the waits that have a result.
func (o *output) notifyLocked() {
	if len(o.waits) == 0 {
		return
	}
	text := string(o.text)
	var left []wait
	for _, w := range o.waits {
		if reply := containsAny(text, w.texts); reply || o.ended {
			w.told <- reply
		} else {
			left = append(left, w)
		}
	}
	o.waits = left
}

func containsAny(text string, those []string) bool {
	for _, t := range those {
		if strings.Contains(text, t) {
			return true
		}
	}
	return false
}

// String returns the kept output.
func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return string(o.text)
}
