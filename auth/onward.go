package auth

import (
	"context"
	"errors"
)

// Errors of Assert.
var (
	// ErrNoOnward: nobody here can say to others who a caller is.
	ErrNoOnward = errors.New("nothing here says to others who the caller is")
	// ErrNobody: the caller has no identity, so that there is nothing to be said.
	ErrNobody = errors.New("callers without credentials have no identity elsewhere")
)

// Onward says to others who a caller is. It is safe for concurrent use.
type Onward interface {
	// Assert returns a token (JWT) that says who the caller of ctx is, and is good for the
	// audience alone and for a short time. The error is ErrNobody for a caller without
	// credentials.
	Assert(ctx context.Context, audience string) (string, error)
}

type onwardKey struct{}

// WithOnward returns a context in which o speaks for the caller.
func WithOnward(ctx context.Context, o Onward) context.Context {
	return context.WithValue(ctx, onwardKey{}, o)
}

// Assert returns a token that says who the caller of ctx is, for an executor that calls
// others on his behalf: audience is who it is for, such as the origin of a URL. The token
// must go there alone. The error is ErrNoOnward if the hub cannot make one.
func Assert(ctx context.Context, audience string) (string, error) {
	o, _ := ctx.Value(onwardKey{}).(Onward)
	if o == nil {
		return "", ErrNoOnward
	}
	return o.Assert(ctx, audience)
}
