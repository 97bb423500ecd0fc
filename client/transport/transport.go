package transport

import (
	"context"
	"crypto/tls"
	"iter"
	"net/http"

	"github.com/a2aproject/a2a-go/v2/a2a"
)

// Conn carries calls over a binding that is not HTTP. Params and results are JSON: of
// v1.0, or, for an interface of version 0.3, ProtoJSON of the proto of v0.3. Methods are
// named as in v1.0, such as "SendMessage". Errors are an *Error if the agent reported
// them, and ErrUnreachable if it could not be connected to. A Conn is safe for
// concurrent use.
type Conn interface {
	Call(ctx context.Context, method string, params []byte) ([]byte, error)
	Stream(ctx context.Context, method string, params []byte) iter.Seq2[[]byte, error]
	Close() error
}

// Factory connects to an interface. The headers go with each call, as metadata; they are
// asked for anew each time. The certificate and whom to trust are those of the
// Credentials; nil if they have none.
type Factory func(ctx context.Context, iface a2a.AgentInterface, header HeaderFunc, config *tls.Config) (Conn, error)

// HeaderFunc returns the headers of a call.
type HeaderFunc func(ctx context.Context) (http.Header, error)

// Identity says on whose behalf calls are made. It is safe for concurrent use.
type Identity interface {
	// Header returns the headers that say it for the caller of a context. An error ends the
	// call as an *IdentityError.
	Header(ctx context.Context) (http.Header, error)
	// Refused is told that the peer did not take the credentials of a call with that context.
	Refused(ctx context.Context)
}
