package httpfront

import (
	"io"

	"github.com/parley-a2a/parley/task"
)

// admit counts the request against the limits of its caller.
func (x *exchange) admit() error {
	if err := x.front.limiter.Request(x.owner()); err != nil {
		return err
	}
	if x.route.kind == atAPI || x.route.kind == atMCP {
		x.r.Body = &metered{x.r.Body, x}
	}
	return nil
}

// owner is the owner that the request is counted for. All callers that have only the token of
// the extended cards share one.
func (x *exchange) owner() task.Owner {
	if x.caller.Principal == nil {
		return ""
	}
	return x.caller.Principal.Owner()
}

// countBody counts the body that was read, even if it was not read to its end.
func (x *exchange) countBody(err error) error {
	if over := x.front.limiter.Bytes(x.owner(), int(x.got)); err == nil {
		err = over
	}
	return err
}

// metered is a body that another handler reads. It is counted but never cut off: the excess
// delays its caller's next request.
type metered struct {
	io.ReadCloser

	x *exchange
}

// Read implements io.Reader.
func (m *metered) Read(b []byte) (int, error) {
	n, err := m.ReadCloser.Read(b)
	_ = m.x.front.limiter.Bytes(m.x.owner(), n)
	return n, err
}
