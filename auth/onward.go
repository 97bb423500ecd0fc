package auth

import (
	"context"
	"errors"
)

// Errors of Assert.
var (
	// ErrNoOnward is returned if the hub cannot issue assertions.
	ErrNoOnward = errors.New("nothing here says to others who the caller is")
	// ErrNobody is returned for a caller without credentials, which has no identity to assert.
	ErrNobody = errors.New("callers without credentials have no identity elsewhere")
)

// Onward issues tokens that identify a caller to other parties. It is safe for concurrent use.
type Onward interface {
	// Assert returns a short-lived token (JWT) that identifies the caller of ctx and is valid
	// for the audience only. The error is ErrNobody for a caller without credentials.
	Assert(ctx context.Context, audience string) (string, error)
}

type onwardKey struct{}

// WithOnward returns a context in which Assert uses o.
func WithOnward(ctx context.Context, o Onward) context.Context {
	return context.WithValue(ctx, onwardKey{}, o)
}

// Assert returns a token that identifies the caller of ctx, for an executor that calls other
// parties on the caller's behalf. audience is the recipient, such as the origin of a URL; the
// token must be sent only there. The error is ErrNoOnward if the hub cannot issue one.
func Assert(ctx context.Context, audience string) (string, error) {
	o, _ := ctx.Value(onwardKey{}).(Onward)
	if o == nil {
		return "", ErrNoOnward
	}
	return o.Assert(ctx, audience)
}
