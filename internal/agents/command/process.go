package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"time"
)

// startError says that the program cannot be started, for the caller.
type startError struct {
	program string
	err     error
}

func (e *startError) Error() string {
	return fmt.Sprintf("program %q cannot be started: %v", e.program, e.err)
}

func (e *startError) Unwrap() error { return e.err }

// process is a started program.
type process struct {
	cmd            *exec.Cmd
	stdout, stderr *outlet
	// exited is closed when the program is gone; state and err are set then.
	exited chan struct{}
	state  *os.ProcessState
	err    error
	// cause is why guard ended the program, or nil.
	cause error

	mu     sync.Mutex // guards reaped and the sending of signals
	reaped bool
}

// start starts the program of a in the folder f. A program that cannot be started
// gives a startError.
func start(a *Agent, f *folder) (*process, error) {
	if len(a.Command) == 0 {
		return nil, &startError{"", errors.New("the agent has no command")}
	}
	// Everything the program reads and writes is a file of the system: there is
	// nothing to copy, and a program that does not read its input harms nobody.
	input, err := os.Open(f.file(inputFile))
	if err != nil {
		return nil, err
	}
	defer func() { _ = input.Close() }()
	outRead, outWrite, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer func() { _ = outWrite.Close() }()
	errRead, errWrite, err := os.Pipe()
	if err != nil {
		_ = outRead.Close()
		return nil, err
	}
	defer func() { _ = errWrite.Close() }()
	p := &process{
		cmd:    exec.Command(a.Command[0], a.Command[1:]...),
		stdout: &outlet{file: outRead},
		stderr: &outlet{file: errRead},
		exited: make(chan struct{}),
	}
	p.cmd.Dir, p.cmd.Env = a.Dir, f.env
	p.cmd.Stdin, p.cmd.Stdout, p.cmd.Stderr = input, outWrite, errWrite
	if err := p.begin(a, f); err != nil {
		p.close()
		return nil, err
	}
	return p, nil
}

// begin starts the program in a group of its own and completes the record.
func (p *process) begin(a *Agent, f *folder) error {
	ownGroup(p.cmd)
	if err := p.cmd.Start(); err != nil {
		// The system's error does not tell a missing folder from a missing program.
		if _, missing := os.Stat(a.Dir); a.Dir != "" && missing != nil {
			err = missing
		}
		return &startError{a.Command[0], err}
	}
	f.rec.identify(p.cmd.Process.Pid)
	if err := f.record(); err != nil {
		signalGroup(p.cmd.Process, hardest)
		_, _ = p.cmd.Process.Wait()
		return err
	}
	return nil
}

// wait waits until the program has ended and ends what it left in its group.
func (p *process) wait() {
	// Until it is reaped, the number of the process stands for its group and nobody
	// else's. Where that cannot be had, the gap is short.
	held := awaitExit(p.cmd.Process)
	if !held {
		p.state, p.err = p.cmd.Process.Wait()
	}
	p.signal(hardest)
	p.mu.Lock()
	if held {
		p.state, p.err = p.cmd.Process.Wait()
	}
	p.reaped = true
	p.mu.Unlock()
	close(p.exited)
	p.stdout.release()
	p.stderr.release()
}

// guard ends the program when ctx ends, in two steps.
func (p *process) guard(ctx context.Context, grace time.Duration) {
	select {
	case <-p.exited:
		return
	case <-ctx.Done():
	}
	p.cause = context.Cause(ctx)
	if grace > 0 {
		p.signal(gentle)
	}
	timer := time.NewTimer(grace)
	defer timer.Stop()
	select {
	case <-p.exited:
	case <-timer.C:
		p.signal(hardest)
	}
}

// signal sends s to the group of the program, unless that is gone.
func (p *process) signal(s strength) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.reaped {
		signalGroup(p.cmd.Process, s)
	}
}

// close closes the pipes.
func (p *process) close() {
	_ = p.stdout.file.Close()
	_ = p.stderr.file.Close()
}

// strength says how a program is ended.
type strength int

const (
	gentle  strength = iota // it may clean up
	hardest                 // it may not
)

// ending is how a run has ended.
type ending struct {
	// cause is why the program was ended from outside, or nil.
	cause  error
	state  *os.ProcessState
	err    error
	stderr string
}

// code returns the exit code; -1 if the program was ended by a signal.
func (e *ending) code() int {
	if e.state == nil {
		return -1
	}
	return e.state.ExitCode()
}

// String says how the program ended, such as "exit status 2" or "signal: killed".
func (e *ending) String() string {
	if e.state == nil {
		return fmt.Sprintf("an unknown state (%v)", e.err)
	}
	return e.state.String()
}

const (
	// restWithin is how long an outlet waits for more after the program is gone.
	restWithin = 100 * time.Millisecond
	// maxRest is more than a pipe can hold.
	maxRest = 4 << 20
)

// outlet is the read end of a pipe that a program writes to. It ends when all
// writers have closed it, or when the program is gone and the pipe is empty, even
// if some process that escaped still holds it open. It belongs to one reader;
// release may be called beside it.
type outlet struct {
	file *os.File
	// rest counts what was read after release; draining says that there was one.
	draining bool
	rest     int
}

// release says that the program is gone. It wakes the reader.
func (o *outlet) release() { _ = o.file.SetReadDeadline(time.Unix(1, 0)) }

// Read implements io.Reader.
func (o *outlet) Read(b []byte) (int, error) {
	if !o.draining {
		n, err := o.file.Read(b)
		if !errors.Is(err, os.ErrDeadlineExceeded) {
			return n, err
		}
		o.draining = true
	}
	if o.rest >= maxRest {
		return 0, io.EOF
	}
	if err := o.file.SetReadDeadline(time.Now().Add(restWithin)); err != nil {
		return 0, err
	}
	n, err := o.file.Read(b)
	o.rest += n
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return n, io.EOF
	}
	return n, err
}
