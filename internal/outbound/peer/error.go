package peer

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/internal/json/rawjson"
	"github.com/parley-a2a/parley/internal/outbound/httpcall"
	"github.com/parley-a2a/parley/internal/outbound/transport"
)

// Errors on the caller's side. Callers test with errors.Is.
var (
	// ErrUnreachable means that no connection to the agent could be made, so it has received
	// nothing.
	ErrUnreachable = httpcall.ErrUnreachable
	// ErrOpen means that the breaker of the peer is open after failed calls. Nothing was sent.
	// It wraps ErrUnreachable.
	ErrOpen = fmt.Errorf("calls are paused after failures: %w", httpcall.ErrUnreachable)
	// ErrNoInterface means that the card lists no interface that can be used.
	ErrNoInterface = errors.New("no usable interface")
	// ErrNoTransport means that Options.Bindings names a binding that is neither built in nor
	// among Options.Transports.
	ErrNoTransport = errors.New("no transport for the binding")
	// ErrTooLarge means that an answer is larger than Options.MaxBody, or an event larger than
	// Options.MaxEvent.
	ErrTooLarge = httpcall.ErrTooLarge
	// ErrUnsupported means that the dialect of the peer does not have the operation. Nothing
	// was sent.
	ErrUnsupported = fmt.Errorf("not in the dialect of the peer: %w", a2a.ErrUnsupportedOperation)
	// ErrDetached is the cause of a context whose end does not affect the remote task, because
	// the caller will follow it later. Any other end of the context of Run and Follow cancels
	// the task.
	ErrDetached = errors.New("detached from the task")
)

// Unreadable is the error of an answer or an event that has arrived whole, and in which something
// cannot be read; another try would bring the same. What could be read is returned beside it.
type Unreadable struct{ Err error }

// Error returns what cannot be read, and where.
func (u *Unreadable) Error() string { return u.Err.Error() }

// Unwrap returns the error, which wraps a2a.ErrInvalidAgentResponse.
func (u *Unreadable) Unwrap() error { return u.Err }

// unreadable marks the error of a decoder.
func unreadable(err error) error {
	if err == nil {
		return nil
	}
	return &Unreadable{err}
}

// isUnreadable reports whether err is an *Unreadable.
func isUnreadable(err error) bool { return errors.As(err, new(*Unreadable)) }

// ErrNothingLeft means that no events follow the position, now or later.
var ErrNothingLeft = errors.New("nothing left to stream")

// wireError is the error object of both HTTP bindings.
type wireError struct {
	Code    json.Number     `json:"code"`
	Status  string          `json:"status"`
	Message string          `json:"message"`
	Data    json.RawMessage `json:"data"`
	Details json.RawMessage `json:"details"`
}

type errorInfo struct {
	Type     string            `json:"@type"`
	Reason   string            `json:"reason"`
	Metadata map[string]string `json:"metadata"`
}

// ErrorOf returns the error in an HTTP answer, or nil.
func ErrorOf(status int, body []byte) error {
	good := status >= 200 && status < 300
	if good && rawjson.Member(body, "error") == nil {
		return nil
	}
	var answer struct {
		Error *wireError `json:"error"`
	}
	if json.Unmarshal(body, &answer) == nil && answer.Error != nil {
		return answer.Error.decode(status)
	}
	if good {
		return nil
	}
	return (&transport.Error{Status: status, Message: explanation(status, body)}).Settle()
}

// maxExplanation bounds the text that is used from the answer of an arbitrary server.
const maxExplanation = 300

// explanation returns the status with the error text of common web frameworks.
func explanation(status int, body []byte) string {
	text := strings.TrimSpace(fmt.Sprintf("HTTP %d %s", status, http.StatusText(status)))
	if bytes.Contains(body, []byte("HTTP request to an HTTPS server")) { // the text of package net/http
		return text + ": the server speaks TLS; its address begins with https://"
	}
	var output struct {
		Error   any `json:"error"`
		Detail  any `json:"detail"`
		Message any `json:"message"`
		Title   any `json:"title"`
	}
	if json.Unmarshal(body, &output) != nil {
		return text
	}
	for _, v := range []any{output.Message, output.Detail, output.Error, output.Title} {
		if s, ok := v.(string); ok && s != "" {
			if len(s) > maxExplanation {
				s = strings.ToValidUTF8(s[:maxExplanation], "") + "…"
			}
			return text + ": " + s
		}
	}
	return text
}

func (w *wireError) decode(status int) *transport.Error {
	e := &transport.Error{Message: w.Message, Status: status}
	if code, ok := rawjson.Int([]byte(w.Code)); ok && code < 0 {
		e.Code = int(code)
	}
	for _, list := range []json.RawMessage{w.Data, w.Details} {
		// Older agents put free-form data here; only a list can contain an ErrorInfo.
		var infos []errorInfo
		if json.Unmarshal(list, &infos) != nil {
			continue
		}
		for _, info := range infos {
			if strings.HasSuffix(info.Type, "google.rpc.ErrorInfo") {
				e.Reason, e.Meta = info.Reason, info.Metadata
			}
		}
	}
	if w.Status == "INTERNAL" && e.Reason == "" {
		e.Reason = a2a.ErrorReason(a2a.ErrInternalError)
	}
	e.Settle()
	return e
}

// explain reduces an error to its cause, without the names of intermediate layers.
func explain(ctx context.Context, err error) error {
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return context.Cause(ctx)
	}
	return httpcall.Reason(err)
}

func named(err error, op string) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", op, err)
}

// strange returns an error about an invalid answer.
func strange(format string, args ...any) error {
	return fmt.Errorf("%s: %w", fmt.Sprintf(format, args...), a2a.ErrInvalidAgentResponse)
}

// Refused reports whether err, of a subscription, may mean that the task has ended or that the
// agent has no subscriptions: the protocol's error, the error of the official SDK's server, and
// the errors of agents that do not know the operation.
func Refused(err error) bool {
	return errors.Is(err, a2a.ErrUnsupportedOperation) || errors.Is(err, a2a.ErrTaskNotFound) || unknownOperation(err)
}

// unknownOperation reports whether err means that the operation does not exist.
func unknownOperation(err error) bool {
	var e *transport.Error
	if !errors.As(err, &e) {
		return false
	}
	if errors.Is(e.Err, a2a.ErrMethodNotFound) {
		return true
	}
	return e.Reason == "" && e.Code == 0 && (e.Status == http.StatusNotFound || e.Status == http.StatusMethodNotAllowed ||
		e.Status == http.StatusNotImplemented)
}

// Passing reports whether a later attempt may succeed after err.
func Passing(err error) bool {
	var agent *transport.Error
	if errors.As(err, &agent) {
		switch agent.Status {
		case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
			return true
		}
		return false
	}
	return errors.Is(err, transport.ErrCut) || errors.Is(err, ErrUnreachable) || broken(err)
}

// broken reports whether err comes from the connection and not from the agent.
func broken(err error) bool {
	var agent *transport.Error
	return !errors.As(err, &agent) && !errors.Is(err, a2a.ErrInvalidAgentResponse) && !errors.Is(err, ErrTooLarge) &&
		!errors.Is(err, ErrUnsupported) && !errors.Is(err, a2a.ErrInvalidParams) && !errors.Is(err, transport.ErrCredentials) &&
		!errors.Is(err, context.Canceled) && !errors.Is(err, context.DeadlineExceeded)
}
