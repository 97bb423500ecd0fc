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
	"github.com/parley-a2a/parley/internal/task"
)

// writer sends the events of a task in the messages of a service.
type writer interface {
	// first sends the first message of a stream.
	first(a *engine.Answer) error
	// frame sends a frame of v1.0.
	frame(b []byte) error
	// last reports whether the stream ends with an event.
	last(e *engine.Event) bool
}

// opener opens a stream.
type opener = func(context.Context, *op.Caller) (*engine.Stream, error)

// stream performs the common steps of both streaming calls.
func (s *base) stream(o dialect.Operation, out grpc.ServerStream, w writer, open opener) (err error) {
	defer s.recovered(o, &err)
	ctx := out.Context()
	performs(ctx, s, o)
	c, err := s.identify(ctx)
	if err != nil {
		return s.fail(ctx, o, err)
	}
	if s.cfg.NoStreaming {
		return s.fail(ctx, o, apierror.New(a2a.ErrUnsupportedOperation, "this hub does not stream"))
	}
	ctx, stop := s.last(ctx, c)
	defer stop()
	src, err := open(ctx, c)
	if err != nil {
		return s.fail(ctx, o, err)
	}
	recordTask(ctx, &src.Task)
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

// The errors of a stream that ends before its task does.
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
	// ended is set once the writer has ended the stream.
	ended bool

	// timer runs while a message is being sent.
	timer *time.Timer
	limit time.Duration
	// state and version are the last ones that the caller has received.
	state   task.State
	version int64
}

// run copies until the stream ends. The copying has a goroutine of its own, because only the
// return of the handler ends a send to a caller that does not read.
func (f *feed) run(ctx context.Context, s *base, o dialect.Operation) error {
	stalled := make(chan struct{})
	f.limit = s.cfg.Limits.SendTime
	// The timer may fire again if a message is sent while the call is still ending.
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

func (f *feed) guarded(ctx context.Context, s *base, o dialect.Operation) (err error) {
	defer f.src.Close()
	defer f.timer.Stop()
	defer s.recovered(o, &err)
	return f.copy(ctx)
}

// copy sends the events until the stream ends.
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

// end returns the error of the end of the stream: nil if the task is settled.
func (f *feed) end() error {
	if f.state.Terminal() || f.sending && f.state == task.InputRequired {
		return nil
	}
	return errStopping
}

func (f *feed) sendAll(events []engine.Event) error {
	for i := range events {
		e := &events[i]
		// The messages of the proto cannot carry an event that the protocol does not define.
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
