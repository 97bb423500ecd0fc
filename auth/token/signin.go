package token

import (
	"context"
	"crypto/subtle"
	"errors"
	"slices"
	"time"
)

// ViaSignIn is the Via of principals that have signed in with an ID token.
const ViaSignIn = "sign-in"

// SignIn holds the facts about a sign-in of a person at an issuer (OpenID Connect Core 1.0 §3.1).
// The ID token of that sign-in is a credential only in a context of [WithSignIn].
type SignIn struct {
	// Issuer is the name of the issuer (Issuer.Name). It is required.
	Issuer string
	// Client is the id of the hub as a client of the issuer: the audience of the ID token, in
	// place of Issuer.Audiences. It is required.
	Client string
	// Nonce is the value that the ID token repeats. It is required.
	Nonce string
	// Scopes are the scopes that the issuer granted. They count like the scopes of a token.
	Scopes []string
}

type signInKey struct{}

// WithSignIn returns a context in which Verifier.Token accepts the ID token of a sign-in, and no
// other token. It is for requests that the hub itself makes for the person; s must not change.
func WithSignIn(ctx context.Context, s *SignIn) context.Context {
	return context.WithValue(ctx, signInKey{}, s)
}

// SignIn verifies the ID token of a sign-in like [Verifier.Token] and returns its expiry.
func (v *Verifier) SignIn(ctx context.Context, text string, s *SignIn) (expiry time.Time, err error) {
	_, c, err := v.verify(WithSignIn(ctx, s), text)
	if err != nil {
		return time.Time{}, err
	}
	return c.Expiry.Time(), nil
}

// signIn returns the sign-in of a context, or nil.
func signIn(ctx context.Context) *SignIn {
	s, _ := ctx.Value(signInKey{}).(*SignIn)
	return s
}

// check returns the first error in the claims of an ID token (OpenID Connect Core 1.0 §3.1.3.7)
// that other tokens do not have.
func (s *SignIn) check(i *Issuer, c *claims) error {
	azp, named := c.more["azp"]
	nonce, _ := c.more["nonce"].(string)
	switch {
	case i.Name != s.Issuer:
		return errors.New("its issuer is not the sign-in's")
	case s.Client == "" || !c.Audience.Contains(s.Client):
		return errors.New("wrong client")
	case len(c.Audience) > 1 && !named, named && azp != s.Client:
		return errors.New("issued to another client (azp)")
	case c.IssuedAt == nil:
		return errors.New("no issue time (iat)")
	case s.Nonce == "" || subtle.ConstantTimeCompare([]byte(nonce), []byte(s.Nonce)) != 1:
		return errors.New("it belongs to another sign-in (nonce)")
	}
	return nil
}

// audience returns an error if a token is not for the hub, or not of the sign-in of ctx.
func (i *Issuer) audience(ctx context.Context, c *claims) error {
	if s := signIn(ctx); s != nil {
		c.granted = s.Scopes
		return s.check(i, c)
	}
	if !slices.ContainsFunc(i.Audiences, c.Audience.Contains) {
		return errors.New("wrong audience")
	}
	return nil
}
