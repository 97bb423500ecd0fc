// Package apierror defines the errors whose text may be sent to callers.
//
// The engine and the decoders return errors that wrap a sentinel of the SDK
// (a2a.ErrTaskNotFound and the like) or one of this package. An [Error] adds the message, the
// fields and the metadata that a binding may send. Any other error is sent as "internal error"
// with a reference; its text is only logged.
//
// Error codes are defined by the bindings; package dialect has the table.
package apierror

import (
	"errors"
	"fmt"
	"time"
)

// Sentinels in addition to those of the SDK.
var (
	// ErrUnavailable means that the hub cannot perform the request now, and a later attempt may
	// succeed.
	ErrUnavailable = errors.New("unavailable")
	// ErrExhausted means that the caller has reached a limit.
	ErrExhausted = errors.New("resource exhausted")
	// ErrTooLarge means that the request is larger than the hub accepts.
	ErrTooLarge = errors.New("request too large")
	// ErrMediaType means that the content type of the request is not supported.
	ErrMediaType = errors.New("unsupported media type")
	// ErrKeyReused means that the caller's idempotency key belongs to another request.
	ErrKeyReused = errors.New("idempotency key reused")
	// ErrDeadline means that the hub stopped waiting.
	ErrDeadline = errors.New("deadline exceeded")
)

// Violation is an error in one field of a request.
type Violation struct {
	// Field is the path of the field as written by the caller, such as "message.parts[0]".
	Field string
	// Problem describes the error in a sentence.
	Problem string
}

// Error is an error with a message for the caller.
type Error struct {
	// Err is the sentinel that determines code and reason. It must not be nil.
	Err error
	// Message is sent to the caller. If empty, the text of Err is sent.
	Message string
	// Violations list the invalid fields.
	Violations []Violation
	// Meta is sent as ErrorInfo.metadata.
	Meta map[string]string
	// RetryAfter is the time after which the caller may retry; zero sends none.
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

// With adds an entry to the metadata of e and returns e.
func (e *Error) With(key, value string) *Error {
	if e.Meta == nil {
		e.Meta = make(map[string]string, 1)
	}
	e.Meta[key] = value
	return e
}
