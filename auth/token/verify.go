package token

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"

	"github.com/parley-a2a/parley/auth"
	"github.com/parley-a2a/parley/internal/apierror"
)

// maxToken is the maximum length of a token, in bytes.
const maxToken = 8 << 10

// ErrToken is wrapped by the reasons for refusing a token. Callers do not see the reason. It
// wraps auth.ErrUnauthenticated.
var ErrToken error = refusal{}

type refusal struct{}

func (refusal) Error() string { return "token rejected" }

func (refusal) Unwrap() error { return auth.ErrUnauthenticated }

// Verifier authenticates callers by tokens. The zero Verifier has no issuers. It is safe for
// concurrent use once its fields are set.
type Verifier struct {
	// Issuers are the accepted issuers. Each must have passed Issuer.Check.
	Issuers []*Issuer
	// Client fetches keys; nil means a default client that follows no redirects.
	Client *http.Client
	// Logger receives a record when keys cannot be read, and when they can be read again. If
	// nil, nothing is logged.
	Logger *slog.Logger

	mu   sync.Mutex // guards sets
	sets map[*Issuer]*keySet
}

var _ auth.Tokens = (*Verifier)(nil)

// tokenTypes are the accepted types of tokens (RFC 9068 §2.1), in lower case. Tokens for other
// purposes, such as logout tokens, have other types.
var tokenTypes = []string{"", "jwt", "at+jwt", "application/at+jwt", "application/jwt"}

// Token implements auth.Tokens. It returns the principal of a token; in a context of WithSignIn,
// that of an ID token.
func (v *Verifier) Token(ctx context.Context, text string) (*auth.Principal, error) {
	i, c, err := v.verify(ctx, text)
	if err != nil {
		return nil, err
	}
	p := i.principal(c)
	if signIn(ctx) != nil {
		p.Via = ViaSignIn
	}
	return p, nil
}

func (v *Verifier) verify(ctx context.Context, text string) (*Issuer, *claims, error) {
	if len(text) > maxToken {
		return nil, nil, fmt.Errorf("%w: it has more than %d bytes", ErrToken, maxToken)
	}
	t, err := jwt.ParseSigned(text, allAlgorithms)
	if err != nil || len(t.Headers) != 1 {
		return nil, nil, fmt.Errorf("%w: it is not signed with an accepted algorithm", ErrToken)
	}
	i, err := v.issuerOf(t)
	if err != nil {
		return nil, nil, err
	}
	c, err := v.claims(ctx, i, t)
	if err != nil {
		return nil, nil, fmt.Errorf("issuer %s: %w", i.Name, err)
	}
	if err = i.audience(ctx, c); err == nil {
		err = i.checkClaims(c, time.Now())
	}
	if scope, ok := errors.AsType[*auth.ScopeError](err); ok {
		return nil, nil, &apierror.Error{Err: scope, Message: scope.Error()}
	}
	if err != nil {
		return nil, nil, fmt.Errorf("issuer %s: %w: %w", i.Name, ErrToken, err)
	}
	return i, c, nil
}

var allAlgorithms = func() []jose.SignatureAlgorithm {
	return (&Issuer{Algorithms: asymmetric}).algorithms()
}()

// issuerOf returns the issuer named in a token, before verification.
func (v *Verifier) issuerOf(t *jwt.JSONWebToken) (*Issuer, error) {
	var c jwt.Claims
	if err := t.UnsafeClaimsWithoutVerification(&c); err != nil {
		return nil, fmt.Errorf("%w: its claims cannot be read", ErrToken)
	}
	for _, i := range v.Issuers {
		if i.URL == c.Issuer {
			return i, nil
		}
	}
	return nil, fmt.Errorf("%w: wrong issuer", ErrToken)
}

func (v *Verifier) claims(ctx context.Context, i *Issuer, t *jwt.JSONWebToken) (*claims, error) {
	h := t.Headers[0]
	if !slices.Contains(i.algorithms(), jose.SignatureAlgorithm(h.Algorithm)) {
		return nil, fmt.Errorf("%w: its algorithm %s is not allowed", ErrToken, h.Algorithm)
	}
	typ, _ := h.ExtraHeaders[jose.HeaderType].(string)
	if !slices.Contains(tokenTypes, strings.ToLower(typ)) {
		return nil, fmt.Errorf("%w: its type is %.40q", ErrToken, typ)
	}
	keys, err := v.keysOf(i).find(ctx, h.KeyID)
	if err != nil {
		return nil, err
	}
	for _, k := range keys {
		if k.Algorithm != "" && k.Algorithm != h.Algorithm {
			continue
		}
		c := &claims{}
		if t.Claims(k.Key, &c.Claims, &c.more) == nil {
			return c, nil
		}
	}
	return nil, fmt.Errorf("%w: it is not signed by a key of the issuer", ErrToken)
}

func (v *Verifier) keysOf(i *Issuer) *keySet {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.sets == nil {
		v.sets = make(map[*Issuer]*keySet)
	}
	if v.sets[i] == nil {
		v.sets[i] = newKeySet(i, v.Client, v.Logger)
	}
	return v.sets[i]
}
