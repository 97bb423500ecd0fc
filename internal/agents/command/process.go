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

// startError is the error for callers if the program cannot be started.
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
	// exited is closed when the program has ended; state and err are set then.
	exited chan struct{}
	state  *os.ProcessState
	err    error
	// cause is the reason for which guard ended the program, or nil.
	cause error

	mu     sync.Mutex // guards reaped and the sending of signals
	reaped bool
}

// start starts the program of a in the folder f. It returns a startError if the program cannot
// be started.
func start(a *Agent, f *folder) (*process, error) {
	if len(a.Command) == 0 {
		return nil, &startError{"", errors.New("the agent has no command")}
	}
	input, err := os.Open(f.file(inputFile))
	if err != nil {
		return nil, err
	}
	defer func() { _ = input.Close() }()
	return startReading(a, f, input)
}

// startReading starts the program of a, which reads input. All its streams are OS files: nothing is
// copied, and a program that does not read its input blocks no goroutine.
func startReading(a *Agent, f *folder, input *os.File) (*process, error) {
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
		// The system's error does not distinguish a missing folder from a missing program.
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

// wait waits until the program has ended, and kills the processes left in its group.
func (p *process) wait() {
	// Until it is reaped, its process id also identifies its group and is not reused. On
	// systems without awaitExit there is a short gap.
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

// guard ends the program in two steps when ctx ends.
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

// signal sends s to the group of the program, unless the program was reaped.
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

// strength selects the signal that ends a program.
type strength int

const (
	gentle  strength = iota // the program may clean up
	hardest                 // the program is killed
)

// ending describes the end of a run.
type ending struct {
	// cause is the reason for which the hub ended the program, or nil.
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

// String describes the end of the program, such as "exit status 2" or "signal: killed".
func (e *ending) String() string {
	if e.state == nil {
		return fmt.Sprintf("an unknown state (%v)", e.err)
	}
	return e.state.String()
}

const (
	// restWithin is the time that an outlet waits for more output after the program has ended.
	restWithin = 100 * time.Millisecond
	// maxRest is larger than the capacity of a pipe.
	maxRest = 4 << 20
)

// outlet is the read end of a pipe that a program writes to. It ends when all writers have
// closed it, or when the program has ended and the pipe is empty, even if an escaped process
// still holds it open. It has one reader; release may be called concurrently.
type outlet struct {
	file *os.File
	// rest counts the bytes read after release; draining is set once there were any reads after
	// it.
	draining bool
	rest     int
}

// release marks the program as ended, and wakes the reader.
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
