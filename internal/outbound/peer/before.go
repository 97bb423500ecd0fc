package peer

import (
	"context"
	"io"
	"net/http"
)

type beforeKey struct{}

// BeforeSending returns a context whose sends of messages call f once a connection to the agent
// exists, and before the first byte of the message is sent. If f returns an error, the message
// is not sent, and the send fails. f is called each time that a message is sent, by any
// goroutine, with a context that ends with the send.
func BeforeSending(ctx context.Context, f func(context.Context) error) context.Context {
	return context.WithValue(ctx, beforeKey{}, f)
}

// before calls the function of BeforeSending, if the call sends a message.
func before(ctx context.Context, a *ask) error {
	if f, ok := ctx.Value(beforeKey{}).(func(context.Context) error); ok && a.sends() {
		return f(ctx)
	}
	return nil
}

// holdBody makes the body of a request that sends a message wait for the function of
// BeforeSending. A transport reads the body only when it is connected.
func holdBody(req *http.Request, a *ask) {
	ctx := req.Context()
	if ctx.Value(beforeKey{}) == nil || !a.sends() || req.Body == nil {
		return
	}
	hold := func(body io.ReadCloser) io.ReadCloser {
		return &heldBody{ReadCloser: body, before: func() error { return before(ctx, a) }}
	}
	again := req.GetBody
	req.Body = hold(req.Body)
	req.GetBody = func() (io.ReadCloser, error) {
		body, err := again()
		if err != nil {
			return nil, err
		}
		return hold(body), nil
	}
}

// heldBody calls before at its first read.
type heldBody struct {
	io.ReadCloser
	before func() error // nil once it has returned no error
}

// Read implements io.Reader.
func (h *heldBody) Read(p []byte) (int, error) {
	if h.before != nil {
		if err := h.before(); err != nil {
			return 0, err
		}
		h.before = nil
	}
	return h.ReadCloser.Read(p)
}
