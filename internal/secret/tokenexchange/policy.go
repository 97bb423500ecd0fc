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

// Mode is how an agent is told whose work it does.
type Mode string

// The modes. The empty Mode is None.
const (
	// None tells nothing.
	None Mode = "none"
	// Assertion sends a token that the hub signs.
	Assertion Mode = "assertion"
	// Exchange sends a token that an authorization server gives for the caller.
	Exchange Mode = "exchange"
	// Forward sends the caller's own token.
	Forward Mode = "forward"
)

// Authorization is the header that carries tokens unless a policy says otherwise.
const Authorization = "Authorization"

// Policy is how one agent is told whose work it does. The zero Policy tells nothing.
type Policy struct {
	Mode Mode
	// Name is that of the header which carries the token; empty means Authorization, with
	// the scheme Bearer. Others carry the token alone.
	Name string
	// Audience is for whom an assertion is. It is required for one.
	Audience string
	// Claims are those of token.Asserter.Of.
	Claims []string
	// Anonymous is the id that callers without credentials have there. If empty, nothing is
	// made for them, and the agent is not called.
	Anonymous string
	// Asserter signs, for Assertion and Exchange.
	Asserter *token.Asserter
	// Exchanger asks the authorization server, for Exchange.
	Exchanger *Exchanger
}

// Origin returns the scheme and the host of a URL, without the port that is usual.
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

// Header returns what a call on behalf of the caller of ctx carries; nil for nothing.
// Errors hold nothing secret; one that is outcall.ErrUnreachable may pass.
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

// Token returns the token for the caller of ctx, empty for none.
func (p *Policy) Token(ctx context.Context) (string, error) {
	switch p.Mode {
	case Assertion:
		return p.assert(ctx)
	case Exchange:
		return p.exchange(ctx)
	case Forward:
		return forward(ctx)
	}
	return "", nil
}

// who returns the caller as the agent is to know it.
func (p *Policy) who(ctx context.Context) (*auth.Principal, error) {
	caller := auth.PrincipalFrom(ctx)
	switch {
	case !caller.Anonymous():
		return caller, nil
	case p.Anonymous == "":
		return nil, auth.ErrNobody
	}
	return &auth.Principal{ID: p.Anonymous}, nil
}

func (p *Policy) assert(ctx context.Context) (string, error) {
	caller, err := p.who(ctx)
	if err != nil {
		return "", err
	}
	return p.Asserter.Of(caller, p.Audience, p.Claims)
}

// errNoBearer: there is no token to pass on.
var errNoBearer = errors.New("it gets the caller's own token, and there is none: the caller has shown none with the message, " +
	"or the hub, which keeps tokens in memory alone, was started anew since; send a new message with a token")

func forward(ctx context.Context) (string, error) {
	t := usertoken.From(ctx).Reveal()
	if t == "" {
		return "", errNoBearer
	}
	return t, nil
}

// exchange lets the authorization server give a token for the caller's own one, or else for
// an assertion of the hub.
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

// subject returns for what a token is kept, and the caller of whom the hub speaks; nil if his
// own token does.
func (p *Policy) subject(ctx context.Context) (key [32]byte, caller *auth.Principal, err error) {
	if own := usertoken.From(ctx).Reveal(); own != "" {
		return keyOf(accessToken, []byte(own)), nil, nil
	}
	if caller, err = p.who(ctx); err != nil {
		return key, nil, err
	}
	id, err := json.Marshal(caller)
	return keyOf(jwtToken, id), caller, err
}

// Refused forgets the token that was sent for the caller of ctx: the next call gets another
// one from the authorization server.
func (p *Policy) Refused(ctx context.Context) {
	if p.Mode != Exchange {
		return
	}
	if key, _, err := p.subject(ctx); err == nil {
		p.Exchanger.drop(key)
	}
}
