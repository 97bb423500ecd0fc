package httpfront

import (
	"errors"
	"fmt"
	"net/http"

	"github.com/parley-a2a/parley/internal/dialect"
	"github.com/parley-a2a/parley/internal/engine"
	"github.com/parley-a2a/parley/internal/op"
)

// stream answers SendStreamingMessage, or returns an error that is known before the first
// event.
func (x *exchange) stream(r *op.Send, err error) error {
	if err != nil {
		return err
	}
	if err := x.ownSend(r); err != nil {
		return err
	}
	return x.follow(func() (*engine.Stream, error) {
		return x.front.cfg.Engine.Stream(x.r.Context(), &x.caller, r)
	})
}

// subscribe answers SubscribeToTask, or returns an error that is known before the first event.
func (x *exchange) subscribe(r *op.Subscribe, err error) error {
	if err != nil {
		return err
	}
	x.agent(&r.Target)
	r.LastEventID = x.r.Header.Get("Last-Event-ID")
	return x.follow(func() (*engine.Stream, error) {
		if x.showsEnded() {
			return x.subscribeEnded(r)
		}
		return x.front.cfg.Engine.Subscribe(x.r.Context(), &x.caller, r)
	})
}

// follow opens a stream and sends it to its end.
func (x *exchange) follow(open func() (*engine.Stream, error)) error {
	if x.front.cfg.NoStreaming {
		return errNoStreaming
	}
	defer x.last()()
	st, err := open()
	if err != nil {
		return err
	}
	defer st.Close()
	x.about(&st.Task)
	x.activated(st.Task.Agent, st.Confirmed)
	if st.First == nil && st.Done {
		x.noContent()
		return nil
	}
	x.release()
	x.events(st)
	return nil
}

// noContent reports that there is nothing to send; an EventSource then does not reconnect.
func (x *exchange) noContent() { x.status(http.StatusNoContent) }

// events sends a stream. From here on, errors are events.
func (x *exchange) events(st *engine.Stream) {
	env := x.envelope()
	s := &eventWriter{
		w:       x.w,
		rc:      x.rc,
		prefix:  env.Open(nil),
		suffix:  env.Close(nil),
		timeout: x.front.cfg.Limits.WriteTime,
		timed:   x.r.ProtoMajor > 1,
	}
	switch {
	case x.shape != dialect.V1:
		s.frames = x.shape.Frames(x.whole(st))
	case x.surface() == dialect.RESTMessages:
		s.frames = dialect.MessageFrames(x.whole(st))
	}
	x.wrote = true
	s.begin()
	err := x.firstEvent(s, st)
	if err == nil && !st.Done {
		err = s.copy(x.r.Context(), x.following(st), x.front.cfg.Limits.KeepAlive)
	}
	x.streamed(s.sent)
	if err == nil {
		err = x.unread
	}
	if err != nil && !errors.Is(err, errReader) && !x.gone(err) {
		x.failEvent(s, err)
	}
}

// whole returns a function that returns the task of a stream without its history, for the frame
// with the answer. If the task cannot be read, it returns nil, and the error is x.unread.
func (x *exchange) whole(st *engine.Stream) func() []byte {
	return func() []byte {
		none := 0
		a, err := st.Answer(x.r.Context(), &none)
		if err != nil {
			x.unread = fmt.Errorf("read the answer of task %s: %w", st.Task.ID, err)
			return nil
		}
		defer a.Release()
		return dialect.AppendTask(nil, &a.Answer, x.surface())
	}
}

// firstEvent sends the first event, or only the headers to a reader that resumes.
func (x *exchange) firstEvent(s *eventWriter, st *engine.Stream) error {
	buf := takeBuffer()
	defer buf.put()
	if a := st.First; a != nil {
		st.First = nil // it may be large, and the stream may be long
		var version int64
		if a.Message == nil {
			version = a.Head.Version
		}
		if s.frames == nil {
			s.sent++
			buf.b = s.shut(dialect.AppendSendResponse(s.open(buf.b, version), &a.Answer, x.surface()))
		} else {
			buf.b = s.appendFrame(buf.b, version, dialect.AppendSendResponse(nil, &a.Answer, x.surface()))
		}
	}
	if err := s.send(buf.b); err != nil {
		return errors.Join(errReader, err)
	}
	return nil
}

// failEvent sends the error that ends a stream (specification §9.4.2, §11.7). It has no id,
// because nothing can be resumed after it.
func (x *exchange) failEvent(s *eventWriter, err error) {
	report := x.report(err, "")
	x.statusOf(err, &report)
	whole := &eventWriter{w: s.w, rc: s.rc, timeout: s.timeout, timed: s.timed}
	_ = whole.send(whole.appendEvent(nil, 0, x.appendError(nil, &report)))
}
