package command

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"sync"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2asrv"
)

// yieldFunc receives the events of a run.
type yieldFunc = func(a2a.Event, error) bool

// run is one execution of the program.
type run struct {
	agent *Agent
	ec    *a2asrv.ExecutorContext
	stop  context.CancelCauseFunc
	// gone is closed when the run has no program any more.
	gone chan struct{}
	once sync.Once
	// unread is set if the consumer of the events has stopped.
	unread bool

	out output
}

// leave marks the program of the run as ended.
func (r *run) leave() { r.once.Do(func() { close(r.gone) }) }

// perform runs the program and yields its output and the final status.
func (r *run) perform(ctx context.Context, yield yieldFunc) {
	if !yield(status(r.ec, a2a.TaskStateWorking, ""), nil) {
		return
	}
	if t := r.agent.Timeout; t > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, t, errTimeout)
		defer cancel()
	}
	f, err := newFolder(ctx, r.agent, r.ec)
	if err != nil {
		yield(nil, fmt.Errorf("prepare run: %w", err))
		return
	}
	defer f.remove()
	if ctx.Err() != nil {
		r.conclude(ctx, yield, &ending{cause: context.Cause(ctx)})
		return
	}
	p, err := start(r.agent, f)
	if err != nil {
		r.notStarted(yield, err)
		return
	}
	end := r.follow(ctx, yield, p)
	f.remove() // before the final status, so that its reader finds no files
	if r.unread {
		return
	}
	r.conclude(ctx, yield, end)
}

// notStarted fails the task, or returns an error to the hub if the hub is at fault.
func (r *run) notStarted(yield yieldFunc, err error) {
	var failure *startError
	if !errors.As(err, &failure) {
		yield(nil, fmt.Errorf("start program: %w", err))
		return
	}
	yield(status(r.ec, a2a.TaskStateFailed, failure.Error()), nil)
}

// follow yields the output of p until p has ended.
func (r *run) follow(ctx context.Context, yield yieldFunc, p *process) *ending {
	var errTail tail
	var watchers sync.WaitGroup
	watchers.Go(func() { p.wait(); r.leave() })
	watchers.Go(func() { p.guard(ctx, max(0, cmp.Or(r.agent.Grace, DefaultGrace))) })
	watchers.Go(func() {
		// The read ends with the program; its error has no further meaning.
		_, _ = io.Copy(&errTail, p.stderr)
	})
	copied := false
	defer func() {
		if !copied { // the consumer has panicked
			r.stop(errUnread)
		}
		watchers.Wait()
		p.close()
	}()
	pieces, enough := make(chan []byte), make(chan struct{})
	watchers.Go(func() { readAll(p.stdout, pieces, enough) })
	defer close(enough)
	r.copy(pieces, yield)
	copied = true
	watchers.Wait()
	return &ending{cause: p.cause, state: p.state, err: p.err, stderr: errTail.text()}
}

// readAll reads until the end, or until enough is closed. A receiver may use a piece until it
// receives the next one.
func readAll(from io.Reader, pieces chan<- []byte, enough <-chan struct{}) {
	defer close(pieces)
	for bufs := [2][]byte{make([]byte, 32<<10), make([]byte, 32<<10)}; ; bufs[0], bufs[1] = bufs[1], bufs[0] {
		n, err := from.Read(bufs[0])
		if n > 0 {
			select {
			case pieces <- bufs[0][:n]:
			case <-enough:
				return
			}
		}
		if err != nil {
			return
		}
	}
}

// copy yields the output of the program until it ends. If the consumer has stopped, the output
// is still read, so that the program is not blocked.
func (r *run) copy(pieces <-chan []byte, yield yieldFunc) {
	var total int64
	listening := true
	send := func(text string) {
		if listening && text != "" && !yield(r.out.chunk(r.ec, text), nil) {
			listening, r.unread = false, true
			r.stop(errUnread)
		}
	}
	lull := time.NewTimer(r.agent.lull())
	defer lull.Stop()
	for {
		select {
		case <-lull.C:
			send(r.out.flush())
		case piece, ok := <-pieces:
			if !ok {
				send(r.out.end())
				return
			}
			total += int64(len(piece))
			if listening && total > r.agent.maxOutput() {
				listening = false
				r.stop(errTooLarge)
			}
			if listening {
				send(r.out.push(piece))
			}
			lull.Reset(r.agent.lull())
		}
	}
}

// conclude yields the rest of the output and the final status.
func (r *run) conclude(ctx context.Context, yield yieldFunc, end *ending) {
	if end.cause != nil {
		if text := r.out.flush(); text != "" && !yield(r.out.chunk(r.ec, text), nil) {
			return
		}
	}
	switch {
	case end.cause == nil:
	case errors.Is(end.cause, errCanceled):
		yield(status(r.ec, a2a.TaskStateCanceled, ""), nil)
		return
	case errors.Is(end.cause, errTimeout):
		r.fail(yield, end, "was killed after "+r.agent.Timeout.String())
		return
	case errors.Is(end.cause, errTooLarge):
		r.fail(yield, end, fmt.Sprintf("was killed because it wrote more than %d bytes", r.agent.maxOutput()))
		return
	default:
		yield(nil, fmt.Errorf("run program: %w", stopped(ctx)))
		return
	}
	if last := r.out.last(r.ec); last != nil && !yield(last, nil) {
		return
	}
	r.exited(yield, end)
}

func (r *run) exited(yield yieldFunc, end *ending) {
	switch code := end.code(); code {
	case 0:
		yield(status(r.ec, a2a.TaskStateCompleted, ""), nil)
	case ExitInput:
		question := cmp.Or(r.out.question(), "The program asks for input.")
		yield(status(r.ec, a2a.TaskStateInputRequired, question), nil)
	default:
		r.fail(yield, end, "ended with "+end.String())
	}
}

// fail yields FAILED with the reason and the end of standard error.
func (r *run) fail(yield yieldFunc, end *ending, what string) {
	text := fmt.Sprintf("program %q %s", filepath.Base(r.agent.Command[0]), what)
	if end.stderr != "" {
		text += ": " + end.stderr
	}
	e := status(r.ec, a2a.TaskStateFailed, text)
	if end.state != nil && end.state.Exited() {
		e.Status.Message.Metadata = map[string]any{"exitCode": end.code()}
	}
	yield(e, nil)
}

// status returns a status event, with a message if text is not empty. It has no timestamp,
// because the hub sets one when it stores the event.
func status(ec *a2asrv.ExecutorContext, state a2a.TaskState, text string) *a2a.TaskStatusUpdateEvent {
	e := &a2a.TaskStatusUpdateEvent{
		TaskID:    ec.TaskID,
		ContextID: ec.ContextID,
		Status:    a2a.TaskStatus{State: state},
	}
	if text != "" {
		e.Status.Message = a2a.NewMessageForTask(a2a.MessageRoleAgent, ec, a2a.NewTextPart(text))
	}
	return e
}
