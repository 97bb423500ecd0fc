// Package apierror is what a caller may be told about an error.
//
// The engine and the decoders return errors that wrap one of the SDK's sentinels
// (a2a.ErrTaskNotFound and the like) or one of the few here. An [Error] adds the
// words, the fields and the metadata that a binding may write to the wire. Any
// other error leaves the process as "internal error" with a reference; its text
// stays in the log.
//
// Only bindings know codes; package dialect holds the table.
package apierror

import (
	"errors"
	"fmt"
	"time"
)

// Sentinels beside those of the SDK.
var (
	// ErrUnavailable: the hub cannot do this now and a later try may succeed.
	ErrUnavailable = errors.New("unavailable")
	// ErrExhausted: the caller has used up a limit.
	ErrExhausted = errors.New("resource exhausted")
	// ErrTooLarge: the request is larger than the hub accepts.
	ErrTooLarge = errors.New("request too large")
	// ErrMediaType: the content type of the request itself is not served.
	ErrMediaType = errors.New("unsupported media type")
	// ErrKeyReused: the caller's idempotency key names another request.
	ErrKeyReused = errors.New("idempotency key reused")
	// ErrDeadline: the hub gave up waiting.
	ErrDeadline = errors.New("deadline exceeded")
)

// Violation names one field of a request and what is wrong with it.
type Violation struct {
	// Field is the path of the field as the caller wrote it, such as
	// "message.parts[0]".
	Field string
	// Problem is a sentence for a person.
	Problem string
}

// Error is an error whose message was written for the caller.
type Error struct {
	// Err is the sentinel that decides code and reason. It must not be nil.
	Err error
	// Message is shown to the caller. If empty, the sentinel's own text is.
	Message string
	// Violations name the fields that are wrong.
	Violations []Violation
	// Meta goes into ErrorInfo.metadata.
	Meta map[string]string
	// RetryAfter tells the caller when to try again; zero says nothing.
	RetryAfter time.Duration
}

// Error returns the message for the caller.
func (e *Error) Error() string {
	if e.Message == "" {
		return e.Err.Error()
	}
	return e.Message
}

// Unwrap returns the sentinel.
func (e *Error) Unwrap() error { return e.Err }

// New returns an Error with a formatted message.
func New(sentinel error, format string, args ...any) *Error {
	return &Error{Err: sentinel, Message: fmt.Sprintf(format, args...)}
}

// Field returns an Error about one field of the request.
func Field(sentinel error, field, format string, args ...any) *Error {
	problem := fmt.Sprintf(format, args...)
	return &Error{
		Err:        sentinel,
		Message:    field + ": " + problem,
		Violations: []Violation{{Field: field, Problem: problem}},
	}
}

// With returns e with a further entry in its metadata.
func (e *Error) With(key, value string) *Error {
	if e.Meta == nil {
		e.Meta = make(map[string]string, 1)
	}
	e.Meta[key] = value
	return e
}
