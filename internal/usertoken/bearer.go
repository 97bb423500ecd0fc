// Package usertoken carries a caller's own token through one call, for the few agents that are
// to get it.
//
// # What it is
//
// Whoever authenticates calls makes a [Slot] with [Collect] if somebody may want the token;
// the authenticator leaves it there with [Found]. The hub hands it to the run of the
// message with [With], and who calls on reads it with [From].
//
// # Guarantees
//
// A [Token] is never shown: not printed, not logged, not encoded. It is in memory only, as
// long as the call or the run that it came for.
//
// # What it does not promise
//
// Memory is not wiped. Whoever runs in the process can call [From].
//
// # Concurrency
//
// Tokens are values. A Slot belongs to one call.
//
// # Testing
//
// Everything here is a pure function.
package usertoken

import (
	"context"
	"log/slog"
)

// Token is a token that a caller has shown. The zero Token is none.
type Token struct{ text *string }

// hidden stands for a token wherever one is shown.
const hidden = "[token]"

// New returns the token with a text; that of an empty text is none.
func New(text string) Token {
	if text == "" {
		return Token{}
	}
	return Token{&text}
}

// Reveal returns the text of the token, empty if there is none. It is for the header of a
// request alone.
func (t Token) Reveal() string {
	if t.text == nil {
		return ""
	}
	return *t.text
}

// String does not show the token.
func (Token) String() string { return hidden }

// GoString does not show the token.
func (Token) GoString() string { return hidden }

// LogValue does not show the token.
func (Token) LogValue() slog.Value { return slog.StringValue(hidden) }

// MarshalJSON does not show the token.
func (Token) MarshalJSON() ([]byte, error) { return []byte(`"` + hidden + `"`), nil }

// Slot is where an authenticator leaves the token of a call.
type Slot struct{ token Token }

// Token returns what was left; the zero Token if nothing was.
func (s *Slot) Token() Token { return s.token }

type (
	slotKey  struct{}
	tokenKey struct{}
)

// Collect returns a context for an authenticator that leaves the token in s.
func Collect(ctx context.Context, s *Slot) context.Context {
	return context.WithValue(ctx, slotKey{}, s)
}

// Found leaves a token that was found good, if somebody wants it.
func Found(ctx context.Context, text string) {
	if s, _ := ctx.Value(slotKey{}).(*Slot); s != nil {
		s.token = New(text)
	}
}

// With returns a context with a token; ctx itself if there is none.
func With(ctx context.Context, t Token) context.Context {
	if t == (Token{}) {
		return ctx
	}
	return context.WithValue(ctx, tokenKey{}, t)
}

// From returns the token of ctx; the zero Token if there is none.
func From(ctx context.Context) Token {
	t, _ := ctx.Value(tokenKey{}).(Token)
	return t
}
