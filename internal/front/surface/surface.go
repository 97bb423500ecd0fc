// Package surface defines the interface between the HTTP front and surfaces in the shapes of
// other ecosystems, which parts add.
//
// # Overview
//
// A [Surface] has paths of its own. The front checks Host and Origin, identifies the caller,
// counts the request against the caller's limits, reads the body, and then lets the surface
// serve the [Request]. Errors are returned to the front, which logs those that callers must not
// see, and asks the surface for the shape of the others.
//
// # Guarantees
//
// A Request has a principal and a body within the limits of the front. Writes of a Request have the
// front's deadlines: a reader that is too slow is disconnected, and delays no other.
//
// # Concurrency
//
// A Surface serves any number of requests concurrently. A Request belongs to the goroutine of its
// request.
package surface

import (
	"net/http"
	"time"

	"github.com/parley-a2a/parley/internal/dialect"
	"github.com/parley-a2a/parley/internal/engine"
	"github.com/parley-a2a/parley/internal/op"
	"github.com/parley-a2a/parley/internal/task"
)

// Surface serves paths that do not belong to A2A. It is called concurrently.
type Surface interface {
	// Methods returns the methods that an escaped path allows, in the form of the Allow header;
	// empty if nothing is served there.
	Methods(path string) string
	// Serve answers a request, or returns an error before it has started the answer.
	Serve(v *Request) error
	// AppendError appends the body of an answer with an error.
	AppendError(dst []byte, r *dialect.Report) []byte
}

// New makes a surface that a part adds to the hub with an engine.
type New func(e *engine.Engine) Surface

// Request is a request to a Surface. The front supplies the functions, which are never nil.
type Request struct {
	// Request is the request, whose body has been read.
	Request *http.Request
	// Path is the escaped path.
	Path string
	// Body is the body; nil if there is none. It must not be kept.
	Body []byte
	// Caller is the caller, with a principal.
	Caller *op.Caller
	// Key is the idempotency key of the request, or empty.
	Key string
	// KeepAlive is the silence after which a stream sends a comment.
	KeepAlive time.Duration
	// Adopt applies the ids that a message names; see op.Caller.Adopt.
	Adopt func(r *op.Send)
	// About records the task of the answer.
	About func(h *task.Head)
	// Header is the header of the answer, until the answer starts.
	Header http.Header
	// Reply answers with JSON.
	Reply func(status int, body []byte)
	// Stream starts an answer of server-sent events and returns a function that sends a piece
	// of it immediately; an error of that function means that the reader has disconnected. Body
	// must not be used afterwards. Stream returns an error if streaming is disabled.
	Stream func() (send func(piece []byte) error, err error)
	// Explain returns the report of an error for the caller, and logs a hidden error.
	Explain func(err error) dialect.Report
	// Gone reports whether an error means only that the caller has disconnected.
	Gone func(err error) bool
}

// AppendEvent appends a server-sent event with JSON on one line.
func AppendEvent(dst, json []byte) []byte {
	return append(append(append(dst, "data: "...), json...), "\n\n"...)
}
