// Package usertoken carries a caller's own token through one call, to the few agents that are
// allowed to receive it.
//
// # Overview
//
// The server creates a [Slot] with [Collect] if the token may be needed; the authenticator
// stores the token in it with [Found]. The hub passes the token to the run of the message with
// [With], and outgoing calls read it with [From].
//
// # Guarantees
//
// A [Token] is never printed, logged or encoded. It is held in memory only, for the duration of
// its call or run.
//
// # Non-guarantees
//
// Memory is not wiped. Any code in the process can call [From].
//
// # Concurrency
//
// Tokens are values. A Slot belongs to one call.
package usertoken

import (
	"context"
	"log/slog"
)

// Token is a token sent by a caller. The zero Token means none.
type Token struct{ text *string }

// hidden is the text form of every token.
const hidden = "[token]"

// New returns a Token with a text; the zero Token if text is empty.
func New(text string) Token {
	if text == "" {
		return Token{}
	}
	return Token{&text}
}

// Reveal returns the text of the token; empty if there is none. Use it only for the header of a
// request.
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

// Slot receives the token of a call from the authenticator.
type Slot struct{ token Token }

// Token returns the stored token; the zero Token if there is none.
func (s *Slot) Token() Token { return s.token }

type (
	slotKey  struct{}
	tokenKey struct{}
)

// Collect returns a context in which the authenticator stores the token in s.
func Collect(ctx context.Context, s *Slot) context.Context {
	return context.WithValue(ctx, slotKey{}, s)
}

// Found stores a verified token in the Slot of ctx, if there is one.
func Found(ctx context.Context, text string) {
	if s, _ := ctx.Value(slotKey{}).(*Slot); s != nil {
		s.token = New(text)
	}
}

// With returns a context with a token; ctx itself if t is the zero Token.
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
