package httpfront

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"log/slog"
	"net/http"
	"strconv"
	"strings"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/auth"
	"github.com/parley-a2a/parley/internal/dialect"
	"github.com/parley-a2a/parley/internal/engine"
)

// The keys of log records.
const (
	logMethod    = "method"
	logPath      = "path"
	logReference = "reference"
	logError     = "error"
)

var (
	jsonType = []string{mediaJSON}
	a2aType  = []string{mediaA2A}
	textType = []string{"text/plain; charset=utf-8"}
)

// maxBuffered is how much of an answer package http buffers; it sets the length of such an
// answer itself.
const maxBuffered = 2048

// body sends an answer.
func (x *exchange) body(code int, contentType []string, b []byte) {
	h := x.w.Header()
	h["Content-Type"] = contentType
	if len(b) > maxBuffered {
		h["Content-Length"] = []string{strconv.Itoa(len(b))}
	}
	x.status(code)
	_, _ = x.w.Write(b) // an error means that the client has disconnected
}

// status sends the status line and the headers.
func (x *exchange) status(code int) {
	x.wrote = true
	x.writeSoon()
	x.w.WriteHeader(code)
}

// reply sends a successful answer to a call. Answers are private to a caller and not cacheable.
func (x *exchange) reply(b []byte) {
	x.w.Header()["Cache-Control"] = noStore
	x.body(http.StatusOK, x.mediaType(), b)
}

// mediaType returns the content type of an answer: JSON, which every client can read, unless a
// caller of HTTP+JSON names the protocol's own type (specification §11.1).
func (x *exchange) mediaType() []string {
	if x.route.rpc {
		return jsonType
	}
	for _, name := range [...]string{"Accept", "Content-Type"} {
		for _, v := range x.r.Header[name] {
			if strings.Contains(v, mediaA2A) {
				return a2aType
			}
		}
	}
	return jsonType
}

// httpError is an error whose HTTP status is the same on both bindings, because it concerns the
// request itself and not its payload.
type httpError struct {
	status int
	// allow is the Allow header, or empty.
	allow string
	err   error
}

// Error implements error.
func (e *httpError) Error() string { return e.err.Error() }

// Unwrap returns the error that has a row in the error table.
func (e *httpError) Unwrap() error { return e.err }

// fail answers with an error.
func (x *exchange) fail(err error) { x.failAs(err, "") }

// failAs answers with an error. An error whose text is hidden from the caller is logged once,
// under the reference that the caller gets. A ref that is not empty means that this has been
// done.
func (x *exchange) failAs(err error, ref string) {
	report := x.report(err, ref)
	code := x.statusOf(err, &report)
	x.failHeaders(err, &report)
	if x.wantsEvents(code) {
		x.failStream(&report)
		return
	}
	if x.route.kind == atConsole {
		x.body(code, textType, []byte(report.Message+"\n"))
		return
	}
	buf := takeBuffer()
	defer buf.put()
	buf.b = x.appendError(buf.b, &report)
	x.body(code, x.mediaType(), buf.b)
}

// report returns the report of err for the caller, and logs a hidden error.
func (x *exchange) report(err error, ref string) dialect.Report {
	report := dialect.Explain(err, ref)
	x.seen.reason = report.Reason
	if !report.Hidden || ref != "" {
		return report
	}
	ref = newReference()
	level := slog.LevelError
	if gone(x.r.Context(), err) {
		level = slog.LevelDebug
	}
	x.front.cfg.Logger.Log(x.r.Context(), level, "request failed", logMethod, x.r.Method, logPath, x.r.URL.Path,
		logReference, ref, logError, err)
	return dialect.Explain(err, ref)
}

// gone reports whether a request has failed because its caller has disconnected or timed out.
func gone(ctx context.Context, err error) bool {
	return ctx.Err() != nil && (errors.Is(err, ctx.Err()) || errors.Is(err, context.Cause(ctx)))
}

// statusOf returns the HTTP status of an answer with the report, whose own status it adapts if
// the surface has another one.
func (x *exchange) statusOf(err error, report *dialect.Report) int {
	var h *httpError
	switch {
	case errors.As(err, &h):
		report.HTTP = h.status
		if h.status == http.StatusNotFound {
			report.GRPC = dialect.NotFound
		}
	case x.route.rpc:
		return report.RPCStatus()
	case x.specified() || x.extra != nil:
	case errors.Is(err, engine.ErrNoExtendedCard):
		report.HTTP, report.GRPC = http.StatusNotImplemented, dialect.Unimplemented
	case report.Sentinel == a2a.ErrTaskNotCancelable:
		report.HTTP = http.StatusConflict
	case report.Sentinel == a2a.ErrUnsupportedContentType:
		report.HTTP = http.StatusUnsupportedMediaType
	}
	if adapt := x.front.cfg.Choices.Error; adapt != nil && !x.route.rpc && !x.route.legacy && x.extra == nil {
		adapt(report, &Failure{
			Err:       err,
			Action:    report.HTTP == http.StatusMethodNotAllowed && x.route.kind == atTask && x.r.Method == http.MethodPost,
			Subscribe: x.route.kind == atSubscribe,
		})
	}
	return report.HTTP
}

func (x *exchange) failHeaders(err error, report *dialect.Report) {
	h := x.w.Header()
	h["Cache-Control"] = noStore
	if challenges := auth.ChallengesOf(err); challenges != nil {
		h["Www-Authenticate"] = challenges
	}
	if s := report.RetrySeconds(); s != "" {
		h.Set("Retry-After", s)
	}
	var e *httpError
	if errors.As(err, &e) && e.allow != "" {
		h.Set("Allow", e.allow)
	}
}

// appendError appends an error in the shape of the surface.
func (x *exchange) appendError(dst []byte, report *dialect.Report) []byte {
	if x.route.rpc {
		x.shape.Adapt(report)
		if x.shape == dialect.V03 {
			return report.AppendV03(dst, x.id)
		}
		return report.AppendRPC(dst, x.id)
	}
	if x.extra != nil {
		own := *report // a value passed to an interface escapes to the heap
		return x.extra.AppendError(dst, &own)
	}
	if x.shape == dialect.Job {
		var body []byte
		if x.in != nil {
			body = x.in.b
		}
		return report.AppendJobError(dst, body)
	}
	return report.AppendREST(dst)
}

// gone reports whether err means only that the caller has disconnected.
func (x *exchange) gone(err error) bool {
	return errors.Is(err, context.Canceled) && x.r.Context().Err() != nil
}

// newReference returns a random name for a log record.
func newReference() string {
	var b [8]byte
	_, _ = rand.Read(b[:]) // never fails
	return hex.EncodeToString(b[:])
}
