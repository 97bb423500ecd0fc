package grpcbind

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"sync"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"

	"github.com/parley-a2a/parley/internal/apierror"
	"github.com/parley-a2a/parley/internal/dialect"
	"github.com/parley-a2a/parley/internal/engine"
	"github.com/parley-a2a/parley/internal/op"
	"github.com/parley-a2a/parley/task"
)

// writer shows a caller what becomes of a task, in the messages of a service.
type writer interface {
	// first sends what a stream begins with.
	first(a *engine.Answer) error
	// frame sends a frame of v1.0.
	frame(b []byte) error
	// last reports whether the stream ends with an event.
	last(e *engine.Event) bool
}

// opener begins a stream.
type opener = func(context.Context, *op.Caller) (*engine.Stream, error)

// stream does what both streaming calls have in common.
func (s *side) stream(o dialect.Operation, out grpc.ServerStream, w writer, open opener) (err error) {
	defer s.recovered(o, &err)
	ctx := out.Context()
	performs(ctx, s, o)
	c, err := s.enter(ctx)
	if err != nil {
		return s.fail(ctx, o, err)
	}
	if s.cfg.NoStreaming {
		return s.fail(ctx, o, apierror.New(a2a.ErrUnsupportedOperation, "this hub does not stream"))
	}
	src, err := open(ctx, c)
	if err != nil {
		return s.fail(ctx, o, err)
	}
	about(ctx, &src.Task)
	if err := s.activated(ctx, c, answering{src.Task.Agent, src.Confirmed}); err != nil {
		src.Close()
		return s.fail(ctx, o, err)
	}
	f := &feed{src: src, out: out, w: w, sending: o == dialect.SendStreamingMessage}
	if err := f.run(ctx, s, o); err != nil {
		return s.fail(ctx, o, err)
	}
	return nil
}

// What a stream ends with if it ends before its task does.
var (
	errStopping = &apierror.Error{
		Err: apierror.ErrUnavailable, Message: "the hub stops; subscribe again", RetryAfter: 5 * time.Second,
	}
	errStalled = apierror.New(apierror.ErrDeadline, "the stream is not read")
)

// feed writes the events of one task to one caller.
type feed struct {
	src *engine.Stream
	out grpc.ServerStream
	w   writer
	// sending is set if the stream ends when the task asks for input.
	sending bool
	// ended is set once the writer has said that the stream ends.
	ended bool

	// timer runs while a message is being sent.
	timer *time.Timer
	limit time.Duration
	// state and version are what the caller has seen last.
	state   task.State
	version int64
}

// run copies until the stream ends. The copying has a goroutine of its own, because
// nothing but the return of the handler ends a send to a caller that does not read.
func (f *feed) run(ctx context.Context, s *side, o dialect.Operation) error {
	stalled := make(chan struct{})
	f.limit = s.cfg.Limits.SendTime
	// It rings again if a message gets through while the call is still on its way out.
	f.timer = time.AfterFunc(math.MaxInt64, sync.OnceFunc(func() { close(stalled) }))
	done := make(chan error, 1)
	s.feeds.Go(func() { done <- f.guarded(ctx, s, o) })
	select {
	case err := <-done:
		if f.version > 0 {
			f.out.SetTrailer(metadata.Pairs(keyLastEventID, strconv.FormatInt(f.version, 10)))
		}
		return err
	case <-stalled:
		s.cfg.Logger.Info("stream was not read", logMethod, o.String(), "task", f.src.Task.ID)
		return errStalled
	}
}

func (f *feed) guarded(ctx context.Context, s *side, o dialect.Operation) (err error) {
	defer f.src.Close()
	defer f.timer.Stop()
	defer s.recovered(o, &err)
	return f.copy(ctx)
}

// copy sends what there is to see until the stream ends.
func (f *feed) copy(ctx context.Context) error {
	if a := f.src.First; a != nil {
		if err := f.timed(func() error { return f.w.first(a) }); err != nil {
			return err
		}
		if a.Message != nil {
			return nil
		}
		f.state, f.version = a.Head.State, a.Head.Version
	}
	if f.src.Done {
		return nil
	}
	for {
		events, err := f.src.Next(ctx, 0)
		if errors.Is(err, io.EOF) {
			return f.end()
		}
		if err != nil {
			return err
		}
		if err := f.sendAll(events); err != nil || f.ended {
			return err
		}
	}
}

// end returns what the stream ends with: nothing if the task is through.
func (f *feed) end() error {
	if f.state.Terminal() || f.sending && f.state == task.InputRequired {
		return nil
	}
	return errStopping
}

func (f *feed) sendAll(events []engine.Event) error {
	for i := range events {
		e := &events[i]
		// The messages of the proto have no place for an event that the protocol does not have.
		if e.Frame != nil && e.Kind != task.Other {
			if err := f.timed(func() error { return f.w.frame(e.Frame) }); err != nil {
				return err
			}
		}
		if e.Kind == task.Status {
			f.state = e.State
		}
		f.version = e.Version
		if f.ended = f.w.last(e); f.ended {
			return nil
		}
	}
	return nil
}

// timed sends a message within the limit.
func (f *feed) timed(send func() error) error {
	f.timer.Reset(f.limit)
	defer f.timer.Stop()
	return send()
}

// v1Writer is the writer of v1.0.
type v1Writer struct{ responses }

func (w v1Writer) first(a *engine.Answer) error {
	msg, err := first(a)
	if err != nil {
		return err
	}
	return w.Send(msg)
}

func (w v1Writer) frame(b []byte) error {
	var r reader
	msg := r.frame(b)
	if r.err != nil {
		return fmt.Errorf("write frame: %w", r.err)
	}
	return w.Send(msg)
}

func (v1Writer) last(*engine.Event) bool { return false }
