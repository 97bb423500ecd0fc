package httpfront

import (
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/internal/apierror"
	"github.com/parley-a2a/parley/internal/membudget"
)

// The media types of requests and answers.
const (
	mediaJSON = "application/json"
	mediaA2A  = "application/a2a+json"
)

// contentType checks the media type of the body, without its parameters. A body without one is
// refused, because browsers can send such requests across origins without a preflight.
func (x *exchange) contentType(accepted ...string) error {
	value := x.r.Header.Get("Content-Type")
	media := value
	if value != accepted[0] {
		media, _, _ = mime.ParseMediaType(value)
	}
	for _, a := range accepted {
		if media == a {
			return nil
		}
	}
	return apierror.New(apierror.ErrMediaType, "content type %q is not %s", value, accepted[0])
}

// encoding refuses a compressed body, which is not decoded. The header of the answer names the
// accepted one (RFC 9110 §15.5.16).
func (x *exchange) encoding() error {
	for _, value := range x.r.Header["Content-Encoding"] {
		if value != "" && !strings.EqualFold(value, "identity") {
			x.w.Header()["Accept-Encoding"] = []string{"identity"}
			return &httpError{
				status: http.StatusUnsupportedMediaType,
				err:    apierror.New(apierror.ErrMediaType, "content encoding %q is not accepted: send the body without compression", value),
			}
		}
	}
	return nil
}

// readBody reads the body into the request's buffer. A body that is too large or too slow is an
// error, and its connection is not reused.
func (x *exchange) readBody() error {
	err := x.readAll()
	if x.front.limiter != nil {
		err = x.countBody(err)
	}
	return err
}

// readAll reads the body. A body of more than membudget.Small bytes draws on the memory budget.
func (x *exchange) readAll() error {
	limit := x.front.cfg.Limits.Body
	if x.r.ContentLength > limit {
		return tooLarge(limit)
	}
	ended, err := x.readUpTo(min(membudget.Small, limit+1))
	if err != nil || ended {
		return err
	}
	if err := x.readLarge(); err != nil {
		return err
	}
	return x.reserve()
}

// readUpTo reads until the buffer holds most bytes. It reports whether the body has ended; then
// it is within the limit.
func (x *exchange) readUpTo(most int64) (ended bool, err error) {
	b, limit := x.in.b, x.front.cfg.Limits.Body
	for int64(len(b)) < most {
		if len(b) == cap(b) {
			b = grow(b, int(most))
		}
		n, err := x.r.Body.Read(b[len(b):min(cap(b), int(most))])
		b = b[:len(b)+n]
		x.in.b, x.got = b, int64(len(b))
		if x.got > limit {
			return false, tooLarge(limit)
		}
		if errors.Is(err, io.EOF) {
			x.readToEnd()
			return true, nil
		}
		if err != nil {
			return false, readError(err)
		}
	}
	return false, nil
}

// grow returns b with more capacity, at least twice its own, up to most.
func grow(b []byte, most int) []byte {
	return append(make([]byte, 0, min(max(2*cap(b), 4<<10), most)), b...)
}

// readToEnd notes that the body was read to its end. Without the new deadline, the old one would
// end the server's watch over the connection, and with it the request.
func (x *exchange) readToEnd() {
	x.readBy(time.Time{})
	x.read = true
}

// release returns the request's buffer to the pool. The bytes of the request must not be used
// afterwards.
func (x *exchange) release() {
	if x.in != nil {
		x.in.put()
		x.in = nil
	}
}

// maxUnread is the number of bytes of a body that package http reads itself after an answer.
const maxUnread = 256 << 10

// maxLinger bounds the bytes that linger reads.
const maxLinger = 64 << 20

// linger sends the answer and reads the rest of a large body that was refused. Closing the connection
// before would reset it, and a client that sends its whole request before it reads would lose the
// answer.
func (x *exchange) linger(body io.Reader) {
	size := x.r.ContentLength
	if x.inside || x.read || x.r.ProtoMajor != 1 || x.r.Header["Expect"] != nil || size >= 0 && size <= maxUnread {
		return
	}
	x.readBy(time.Now().Add(x.front.cfg.Limits.BodyTime))
	if x.rc.Flush() == nil {
		_, _ = io.CopyN(io.Discard, body, maxLinger) // an error means that the client has disconnected, or is too slow
	}
}

func tooLarge(limit int64) error {
	return apierror.New(apierror.ErrTooLarge, "the request body is larger than %d bytes", limit)
}

// errSlowBody is returned when the body did not arrive in time.
var errSlowBody = &httpError{
	status: http.StatusRequestTimeout,
	err:    apierror.New(a2a.ErrInvalidRequest, "the request body took too long to arrive"),
}

func readError(err error) error {
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return errSlowBody
	}
	return errors.Join(apierror.New(a2a.ErrParseError, "the request body is truncated or malformed"),
		fmt.Errorf("read body: %w", err))
}

// readBy sets the deadline for the body; zero removes it. A writer without deadlines ignores
// it, and a broken connection shows in the next read.
func (x *exchange) readBy(at time.Time) { _ = x.rc.SetReadDeadline(at) }

// writeSoon bounds the time of the next write in the same way. Package http reads the rest of a
// body before it writes, so that time is added.
func (x *exchange) writeSoon() {
	limit := x.front.cfg.Limits.WriteTime
	if x.r.ContentLength != 0 && !x.read {
		limit += x.front.cfg.Limits.BodyTime
	}
	_ = x.rc.SetWriteDeadline(time.Now().Add(limit))
}
