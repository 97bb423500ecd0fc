package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"

	"github.com/a2aproject/a2a-go/v2/a2a"
)

// What can go wrong on the caller's side. Callers test with errors.Is.
var (
	// ErrUnreachable: no connection to the agent could be made, so it has received
	// nothing.
	ErrUnreachable = errors.New("not reachable")
	// ErrNoInterface: the card lists no interface that the client can use.
	ErrNoInterface = errors.New("no usable interface")
	// ErrNoCard: there is no agent card at the URL.
	ErrNoCard = errors.New("no agent card")
	// ErrNoTransport: Options.Bindings names a binding that the client does not speak
	// and that Options.Transports does not add.
	ErrNoTransport = errors.New("no transport for the binding")
	// ErrCut: a stream ended before its task did. The error is a *Cut, which says
	// where to go on.
	ErrCut = errors.New("stream ended before the task did")
	// ErrTooLarge: an answer is larger than Options.MaxBody.
	ErrTooLarge = errors.New("answer too large")
)

// Error is an error that the agent reported (specification §5.4), in the same shape
// for every binding.
type Error struct {
	// Err is the SDK's sentinel for the error, such as a2a.ErrTaskNotFound, or
	// a2a.ErrServerError if there is none. It is never nil.
	Err error
	// Code is the JSON-RPC code of the error, over any binding; zero if it has none.
	Code int
	// Reason is the machine-readable reason, such as "TASK_NOT_FOUND"; empty if the
	// agent gave none and none follows from the code.
	Reason string
	// Message is the agent's explanation.
	Message string
	// Meta is what the agent added to the reason.
	Meta map[string]string
	// Status is the HTTP status of the answer; zero if it was not HTTP, or an event of
	// a stream.
	Status int
}

// Error returns the agent's explanation.
func (e *Error) Error() string {
	if e.Message == "" {
		return e.Err.Error()
	}
	return e.Message
}

// Unwrap returns the sentinel.
func (e *Error) Unwrap() error { return e.Err }

// sentinels are the errors of the protocol with their JSON-RPC codes
// (specification §5.4).
var sentinels = []struct {
	code int
	err  error
}{
	{-32700, a2a.ErrParseError},
	{-32600, a2a.ErrInvalidRequest},
	{-32601, a2a.ErrMethodNotFound},
	{-32602, a2a.ErrInvalidParams},
	{-32603, a2a.ErrInternalError},
	{-32001, a2a.ErrTaskNotFound},
	{-32002, a2a.ErrTaskNotCancelable},
	{-32003, a2a.ErrPushNotificationNotSupported},
	{-32004, a2a.ErrUnsupportedOperation},
	{-32005, a2a.ErrUnsupportedContentType},
	{-32006, a2a.ErrInvalidAgentResponse},
	{-32007, a2a.ErrExtendedCardNotConfigured},
	{-32008, a2a.ErrExtensionSupportRequired},
	{-32009, a2a.ErrVersionNotSupported},
	{-31401, a2a.ErrUnauthenticated},
	{-31403, a2a.ErrUnauthorized},
}

// wireError is the error object of both HTTP bindings.
type wireError struct {
	Code    int             `json:"code"`
	Message string          `json:"message"`
	Data    json.RawMessage `json:"data"`
	Details json.RawMessage `json:"details"`
}

type errorInfo struct {
	Type     string            `json:"@type"`
	Reason   string            `json:"reason"`
	Metadata map[string]string `json:"metadata"`
}

// errorOf returns the error that an HTTP answer carries, or nil.
func errorOf(status int, body []byte) error {
	var answer struct {
		Error *wireError `json:"error"`
	}
	if json.Unmarshal(body, &answer) == nil && answer.Error != nil {
		return answer.Error.decode(status)
	}
	if status >= 200 && status < 300 {
		return nil
	}
	e := &Error{Status: status, Message: strings.TrimSpace(fmt.Sprintf("HTTP %d %s", status, http.StatusText(status)))}
	e.settle()
	return e
}

func (w *wireError) decode(status int) *Error {
	e := &Error{Message: w.Message, Status: status}
	if w.Code < 0 {
		e.Code = w.Code
	}
	for _, list := range []json.RawMessage{w.Data, w.Details} {
		// Older agents put free-form data here; only a list can hold an ErrorInfo.
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
	e.settle()
	return e
}

// settle fills in what follows from the rest: reason before code before status,
// since only reasons are the same everywhere.
func (e *Error) settle() {
	for _, s := range sentinels {
		reason := a2a.ErrorReason(s.err)
		if e.Reason == reason || e.Reason == "" && e.Code == s.code {
			e.Err, e.Code, e.Reason = s.err, s.code, reason
			return
		}
	}
	switch {
	case e.Err != nil:
	case e.Status == http.StatusUnauthorized:
		e.Err = a2a.ErrUnauthenticated
	case e.Status == http.StatusForbidden:
		e.Err = a2a.ErrUnauthorized
	default:
		e.Err = a2a.ErrServerError
	}
}

// fromSDK is the Error for one that the SDK has decoded.
func fromSDK(err *a2a.Error) *Error {
	e := &Error{Message: err.Message}
	if err.Err != nil {
		e.Reason = a2a.ErrorReason(err.Err)
	}
	for _, d := range err.TypedDetails {
		if !strings.HasSuffix(d.TypeURL, "google.rpc.ErrorInfo") {
			continue
		}
		switch meta := d.Value["metadata"].(type) {
		case map[string]string:
			e.Meta = meta
		case map[string]any:
			e.Meta = make(map[string]string, len(meta))
			for k, v := range meta {
				e.Meta[k] = fmt.Sprint(v)
			}
		}
	}
	e.settle()
	return e
}

// unreachable says which host could not be connected to, and why.
type unreachable struct {
	host string
	err  error
}

func (u *unreachable) Error() string {
	why := u.err
	var op *net.OpError
	if errors.As(why, &op) {
		why = op.Err // the rest of it repeats the host
	}
	return u.host + " is not reachable: " + why.Error()
}

func (u *unreachable) Unwrap() []error {
	return []error{ErrUnreachable, u.err}
}

// explain reduces an error of the SDK or of net/http to what happened, without the
// names of the layers that it came through.
func explain(ctx context.Context, err error) error {
	var agent *Error
	var cut *Cut
	var lost *unreachable
	var sdk *a2a.Error
	var transport *url.Error
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case errors.As(err, &cut):
		return cut
	case errors.As(err, &agent):
		return agent
	case errors.As(err, &lost):
		return lost
	case errors.As(err, &sdk):
		return fromSDK(sdk)
	case errors.As(err, &transport):
		return transport.Err
	}
	return err
}
