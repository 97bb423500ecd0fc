// Package surface is what the HTTP front gives to surfaces in the shapes of other
// ecosystems: chat completions, AG-UI.
//
// # What it is
//
// A [Surface] has paths of its own. The front checks Host and Origin, finds out who calls,
// counts the request against the caller's limits, reads the body, and then lets the surface
// serve the [Visit]. Errors go back to the front, which logs what callers must not see, and
// asks the surface for the shape of the rest.
//
// # Guarantees
//
// A Visit has a principal and a body within the limits of the front. What a Visit sends has
// the front's deadlines: a reader who is too slow is cut off, and holds up nobody else.
//
// # Concurrency
//
// A Surface serves any number of visits at once. A Visit belongs to the goroutine of its
// request.
//
// # Testing
//
// The tests of package httpfront play a surface; those of the surfaces run behind a front.
package surface

import (
	"net/http"
	"time"

	"github.com/parley-a2a/parley/internal/dialect"
	"github.com/parley-a2a/parley/internal/op"
	"github.com/parley-a2a/parley/task"
)

// Surface serves paths that are none of A2A. It is called concurrently.
type Surface interface {
	// Methods returns the methods that an escaped path takes, as the Allow header lists
	// them; empty if nothing is served there.
	Methods(path string) string
	// Serve answers a visit, or returns an error before it has answered.
	Serve(v *Visit) error
	// AppendError appends the body of an answer that says what is wrong.
	AppendError(dst []byte, r *dialect.Report) []byte
}

// Visit is a request to a Surface. The functions are those of the front and never nil.
type Visit struct {
	// Request is the request, whose body has been read.
	Request *http.Request
	// Path is the escaped path.
	Path string
	// Body is the body; nil if there is none. It must not be kept.
	Body []byte
	// Caller is who calls, with a principal.
	Caller *op.Caller
	// Key is the idempotency key of the request, or empty.
	Key string
	// KeepAlive is the silence after which a stream says that it is alive.
	KeepAlive time.Duration
	// Adopt takes in the ids that a message names; see op.Caller.Adopt.
	Adopt func(r *op.Send)
	// About notes which task the answer is about.
	About func(h *task.Head)
	// Header is that of the answer, until it begins.
	Header http.Header
	// Reply answers with JSON.
	Reply func(status int, body []byte)
	// Stream begins an answer of server-sent events and returns what sends a piece of it,
	// at once; an error of that means that the reader is gone. Body must not be used any
	// more. It returns an error if streaming is switched off.
	Stream func() (send func(piece []byte) error, err error)
	// Explain decides what the caller is told about an error, and logs what it is not.
	Explain func(err error) dialect.Report
	// Gone reports whether an error only says that the caller has gone away.
	Gone func(err error) bool
}

// KeepAlive is a comment of an event stream.
var KeepAlive = []byte(": keep-alive\n\n")

// AppendEvent appends a server-sent event with JSON on one line.
func AppendEvent(dst, json []byte) []byte {
	return append(append(append(dst, "data: "...), json...), "\n\n"...)
}
