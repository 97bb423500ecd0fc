package tokenexchange

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"strings"

	"github.com/parley-a2a/parley/auth"
	"github.com/parley-a2a/parley/auth/token"
	"github.com/parley-a2a/parley/internal/usertoken"
)

// Mode is the method of identifying callers to an agent.
type Mode string

// Modes. The empty Mode is None.
const (
	// None sends nothing.
	None Mode = "none"
	// Assertion sends a token signed by the hub.
	Assertion Mode = "assertion"
	// Exchange sends a token that an authorization server issues for the caller.
	Exchange Mode = "exchange"
	// Forward sends the caller's own token.
	Forward Mode = "forward"
)

// Authorization is the default header for tokens.
const Authorization = "Authorization"

// Policy configures how callers are identified to one agent. The zero Policy sends nothing.
type Policy struct {
	Mode Mode
	// Name is the name of the header for the token; empty means Authorization, with the scheme
	// Bearer. Other headers carry only the token.
	Name string
	// Audience is the audience of assertions. It is required for the mode Assertion.
	Audience string
	// Claims are the claims for token.Asserter.Of.
	Claims []string
	// Anonymous is the id of callers without credentials at the agent. If empty, no token is
	// issued for them, and the agent is not called.
	Anonymous string
	// Asserter signs assertions, for Assertion and Exchange.
	Asserter *token.Asserter
	// Exchanger calls the authorization server, for Exchange.
	Exchanger *Exchanger
}

// Origin returns the scheme and the host of a URL, without a default port.
func Origin(u *url.URL) string {
	host := strings.ToLower(u.Host)
	switch u.Scheme {
	case "https":
		host = strings.TrimSuffix(host, ":443")
	case "http":
		host = strings.TrimSuffix(host, ":80")
	}
	return u.Scheme + "://" + host
}

// Header returns the header for a call on behalf of the caller of ctx; nil if there is none.
// Errors contain no secrets; an error that wraps httpcall.ErrUnreachable is temporary.
func (p *Policy) Header(ctx context.Context) (http.Header, error) {
	text, err := p.Token(ctx)
	if err != nil || text == "" {
		return nil, err
	}
	if p.Name == "" || p.Name == Authorization {
		return http.Header{Authorization: {"Bearer " + text}}, nil
	}
	return http.Header{http.CanonicalHeaderKey(p.Name): {text}}, nil
}

// Token returns the token for the caller of ctx; empty if there is none.
func (p *Policy) Token(ctx context.Context) (string, error) {
	switch p.Mode {
	case Assertion:
		caller, err := p.caller(ctx)
		if err != nil {
			return "", err
		}
		return p.Asserter.Of(caller, p.Audience, p.Claims)
	case Exchange:
		return p.exchange(ctx)
	case Forward:
		t := usertoken.From(ctx).Reveal()
		if t == "" {
			return "", errNoBearer
		}
		return t, nil
	}
	return "", nil
}

// caller returns the caller's principal for the agent.
func (p *Policy) caller(ctx context.Context) (*auth.Principal, error) {
	caller := auth.PrincipalFrom(ctx)
	switch {
	case !caller.Anonymous():
		return caller, nil
	case p.Anonymous == "":
		return nil, auth.ErrNoIdentity
	}
	return &auth.Principal{ID: p.Anonymous}, nil
}

// errNoBearer is returned if the caller's own token is not available.
var errNoBearer = errors.New("it needs the caller's own token, but the caller sent none with the message, " +
	"or the hub, which keeps tokens only in memory, was restarted since; send a new message with a token")

// exchange gets a token from the authorization server for the caller's own token or, without
// one, for an assertion of the hub.
func (p *Policy) exchange(ctx context.Context) (string, error) {
	key, caller, err := p.subject(ctx)
	if err != nil {
		return "", err
	}
	return p.Exchanger.token(ctx, key, func() (string, string, error) {
		if caller == nil {
			return usertoken.From(ctx).Reveal(), accessToken, nil
		}
		text, err := p.Asserter.Of(caller, p.Exchanger.TokenURL, p.Claims)
		return text, jwtToken, err
	})
}

// subject returns the cache key of a token, and the caller to assert; nil if the caller's own
// token is the subject.
func (p *Policy) subject(ctx context.Context) (key [32]byte, caller *auth.Principal, err error) {
	if own := usertoken.From(ctx).Reveal(); own != "" {
		return keyOf(accessToken, []byte(own)), nil, nil
	}
	if caller, err = p.caller(ctx); err != nil {
		return key, nil, err
	}
	id, err := json.Marshal(caller)
	return keyOf(jwtToken, id), caller, err
}

// Refused removes the cached token for the caller of ctx, so that the next call gets another
// one from the authorization server.
func (p *Policy) Refused(ctx context.Context) {
	if p.Mode != Exchange {
		return
	}
	if key, _, err := p.subject(ctx); err == nil {
		p.Exchanger.drop(key)
	}
}
