package peer

import (
	"context"
	"errors"
	"io"
	"iter"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/internal/dialect"
)

// callConn makes a call over a binding that is not HTTP.
func (e *endpoint) callConn(ctx context.Context, s dialect.Shape, a *ask) ([]byte, error) {
	conn, err := e.connect(ctx)
	if err != nil {
		return nil, explain(ctx, err)
	}
	if s == dialect.V03Proto && a.op == dialect.ListTasks {
		return nil, ErrUnsupported
	}
	if err := before(ctx, a); err != nil {
		return nil, err
	}
	raw, err := conn.Call(reporting(ctx, a), a.op.String(), e.message(s, a))
	if errors.Is(err, a2a.ErrUnauthenticated) {
		e.refused(ctx)
	}
	if err != nil {
		return nil, explain(ctx, err)
	}
	out, err := s.ReadResult(a.op, raw)
	return out, unreadable(err)
}

// message is the request of a call.
func (e *endpoint) message(s dialect.Shape, a *ask) []byte {
	if s == dialect.V03Proto {
		return dialect.AppendLegacyMessage(nil, a.op, a.params)
	}
	return s.AppendParams(nil, a.op, e.withTenant(a.params))
}

type afterKey struct{}

// resuming returns the context of a call that continues a stream after an event; "" is none.
func resuming(ctx context.Context, after string) context.Context {
	if after == "" {
		return ctx
	}
	return context.WithValue(ctx, afterKey{}, after)
}

// singleConn makes a call with one answer over a binding that is not HTTP. It is no stream, because a peer
// may confirm extensions at the end of the call.
func (e *endpoint) singleConn(ctx context.Context, s dialect.Shape, a *ask) (*frames, error) {
	ctx, dog := watch(ctx, limit(e.peer.opts.Idle, DefaultIdle))
	defer dog.stop()
	v1, err := e.callConn(ctx, s, a)
	if v1 == nil {
		return nil, err
	}
	return single(v1, err), nil
}

// openConn opens a stream over a binding that is not HTTP.
func (e *endpoint) openConn(ctx context.Context, s dialect.Shape, a *ask) (*frames, error) {
	conn, err := e.connect(ctx)
	if err != nil {
		return nil, explain(ctx, err)
	}
	if err := before(ctx, a); err != nil {
		return nil, err
	}
	o := &e.peer.opts
	ctx, dog := watch(ctx, limit(o.Idle, DefaultIdle))
	next, stop := iter.Pull2(conn.Stream(resuming(reporting(ctx, a), a.after), a.op.String(), e.message(s, a)))
	return primed(&frames{
		stop: func() { stop(); dog.stop() },
		next: func() (dialect.Frame, string, error) {
			raw, err, ok := next()
			switch {
			case !ok:
				return dialect.Frame{}, "", io.EOF
			case err != nil:
				if errors.Is(err, a2a.ErrUnauthenticated) {
					e.refused(ctx)
				}
				return dialect.Frame{}, "", explain(ctx, err)
			}
			dog.alive()
			f, err := s.ReadFrame(raw)
			return f, "", unreadable(err)
		},
	})
}
