package auth

import (
	"context"
	"errors"
)

// Errors of Assert.
var (
	// ErrNoAsserter is returned if the hub cannot issue assertions.
	ErrNoAsserter = errors.New("this hub issues no assertions about callers")
	// ErrNoIdentity is returned for a caller without credentials, which has no identity to assert.
	ErrNoIdentity = errors.New("callers without credentials have no identity to assert")
)

// Asserter issues tokens that identify a caller to other parties. It is safe for concurrent use.
type Asserter interface {
	// Assert returns a short-lived token (JWT) that identifies the caller of ctx and is valid
	// for the audience only. The error is ErrNoIdentity for a caller without credentials.
	Assert(ctx context.Context, audience string) (string, error)
}

type asserterKey struct{}

// WithAsserter returns a context in which Assert uses o.
func WithAsserter(ctx context.Context, o Asserter) context.Context {
	return context.WithValue(ctx, asserterKey{}, o)
}

// Assert returns a token that identifies the caller of ctx, for an executor that calls other
// parties on the caller's behalf. audience is the recipient, such as the origin of a URL; the
// token must be sent only there. The error is ErrNoAsserter if the hub cannot issue one.
func Assert(ctx context.Context, audience string) (string, error) {
	o, _ := ctx.Value(asserterKey{}).(Asserter)
	if o == nil {
		return "", ErrNoAsserter
	}
	return o.Assert(ctx, audience)
}
