package transport

import (
	"context"
	"crypto/tls"
	"iter"
	"net/http"

	"github.com/a2aproject/a2a-go/v2/a2a"
)

// Conn carries calls over a binding that is not HTTP. Params and results are JSON: of v1.0, or,
// for an interface of version 0.3, ProtoJSON of the proto of v0.3. Methods have the names of
// v1.0, such as "SendMessage". Errors are an *Error if the agent reported them, and
// ErrUnreachable if the agent could not be connected to. A Conn is safe for concurrent use.
type Conn interface {
	Call(ctx context.Context, method string, params []byte) ([]byte, error)
	Stream(ctx context.Context, method string, params []byte) iter.Seq2[[]byte, error]
	Close() error
}

// Factory connects to an interface. header returns the headers of each call, which are sent as
// metadata. config has the certificate and the trusted authorities of the Credentials; nil if
// they have none.
type Factory func(ctx context.Context, iface a2a.AgentInterface, header HeaderFunc, config *tls.Config) (Conn, error)

// HeaderFunc returns the headers of a call. It is called for each call.
type HeaderFunc func(ctx context.Context) (http.Header, error)

// Identity identifies the original caller to an agent. It is safe for concurrent use.
type Identity interface {
	// Header returns the headers for the caller of a context. An error ends the call as an
	// *IdentityError.
	Header(ctx context.Context) (http.Header, error)
	// Refused reports that the peer has refused the credentials of a call with that context.
	Refused(ctx context.Context)
}
