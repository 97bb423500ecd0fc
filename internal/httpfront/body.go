package httpfront

import (
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"os"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/internal/fault"
)

// The media types of requests and answers.
const (
	mediaJSON = "application/json"
	mediaA2A  = "application/a2a+json"
)

// contentType checks the media type of the body; its parameters do not matter. A
// body without one is refused: browsers can send that without asking.
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
	return fault.New(fault.ErrMediaType, "content type %q is not %s", value, accepted[0])
}

// readBody appends the body to dst. A body that is too large or takes too long is
// an error, and its connection is not used again.
func (x *exchange) readBody(dst []byte) ([]byte, error) {
	limit := x.front.cfg.Limits.Body
	if x.r.ContentLength > limit {
		return dst, tooLarge(limit)
	}
	for {
		if len(dst) == cap(dst) {
			dst = append(dst, 0)[:len(dst)]
		}
		n, err := x.r.Body.Read(dst[len(dst):cap(dst)])
		dst = dst[:len(dst)+n]
		if int64(len(dst)) > limit {
			return dst, tooLarge(limit)
		}
		if errors.Is(err, io.EOF) {
			// Without this the deadline would end the watch over the connection, and
			// with it the request.
			x.readBy(time.Time{})
			x.read = true
			return dst, nil
		}
		if err != nil {
			return dst, readError(err)
		}
	}
}

func tooLarge(limit int64) error {
	return fault.New(fault.ErrTooLarge, "the request body is larger than %d bytes", limit)
}

// errSlowBody: the body did not arrive in time.
var errSlowBody = &httpError{
	status: http.StatusRequestTimeout,
	err:    fault.New(a2a.ErrInvalidRequest, "the request body took too long to arrive"),
}

func readError(err error) error {
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return errSlowBody
	}
	return errors.Join(fault.New(a2a.ErrParseError, "the request body is broken off or malformed"),
		fmt.Errorf("read body: %w", err))
}

// readBy sets the time until when the body must have arrived; zero lifts it. A
// writer without deadlines is left as it is, and a broken connection shows in the
// read that follows.
func (x *exchange) readBy(at time.Time) { _ = x.rc.SetReadDeadline(at) }

// writeSoon bounds the time of the next write, in the same way. Package http reads
// what is left of a body before it writes, so that time is added.
func (x *exchange) writeSoon() {
	limit := x.front.cfg.Limits.WriteTime
	if x.r.ContentLength != 0 && !x.read {
		limit += x.front.cfg.Limits.BodyTime
	}
	_ = x.rc.SetWriteDeadline(time.Now().Add(limit))
}
