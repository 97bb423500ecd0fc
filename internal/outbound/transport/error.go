package transport

import (
	"errors"
	"net/http"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
)

// ErrCut means that a stream ended before its task did. The error is a *Cut, which has the
// position to continue from.
var ErrCut = errors.New("stream ended before the task did")

// Error is an error that the agent reported (specification §5.4), in the same shape
// for every binding.
type Error struct {
	// Err is the SDK's sentinel for the error, such as a2a.ErrTaskNotFound, or
	// a2a.ErrServerError if there is none. It is never nil.
	Err error
	// Code is the JSON-RPC code of the error, over any binding; zero if it has none.
	Code int
	// Reason is the machine-readable reason, such as "TASK_NOT_FOUND"; empty if the agent sent
	// none and none follows from the code.
	Reason string
	// Message is the agent's explanation.
	Message string
	// Meta is the metadata that the agent added to the reason.
	Meta map[string]string
	// Status is the HTTP status of the answer; zero if it was not HTTP, or an event of
	// a stream.
	Status int
	// RetryAfter is how long callers should wait according to the agent; zero if it sent no
	// time.
	RetryAfter time.Duration
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

// Settle fills in the fields of e that follow from the others, and returns e, for bindings that
// decode errors in their own way. The reason takes precedence over the code and the code over
// the status, since only reasons are the same in every binding.
func (e *Error) Settle() *Error {
	for _, s := range sentinels {
		reason := a2a.ErrorReason(s.err)
		if e.Reason == reason || e.Reason == "" && e.Code == s.code {
			e.Err, e.Code, e.Reason = s.err, s.code, reason
			return e
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
	return e
}

// Position is a position in the stream of a task.
type Position struct {
	// Task is the task.
	Task a2a.TaskID
	// EventID is the id of the last event before the position. Empty means that there is none:
	// no event was received, the binding is not HTTP, or the agent sends no ids.
	EventID string
	// Tenant is the tenant of the task, if it is not that of the interface.
	Tenant string
}

// Cut is the error of a stream that ended before its task did. It wraps ErrCut.
type Cut struct {
	// Position is where the stream broke, for Follow. Its Task is empty if no event
	// named one.
	Position
	// Err is the error of the connection, or nil if the agent closed it properly.
	Err error
}

// Error returns ErrCut's text and the error of the connection.
func (c *Cut) Error() string {
	if c.Err == nil {
		return ErrCut.Error()
	}
	return ErrCut.Error() + ": " + c.Err.Error()
}

// Unwrap returns ErrCut and the error of the connection.
func (c *Cut) Unwrap() []error {
	if c.Err == nil {
		return []error{ErrCut}
	}
	return []error{ErrCut, c.Err}
}

// IdentityError is the error of a call that was not sent, because the headers of its [Identity]
// were unavailable. If it also wraps ErrUnreachable, a later call may succeed.
type IdentityError struct{ Err error }

// Error returns the reason.
func (u *IdentityError) Error() string {
	return "cannot get the identity of the caller: " + u.Err.Error()
}

// Unwrap returns the reason.
func (u *IdentityError) Unwrap() []error { return []error{ErrCredentials, u.Err} }
