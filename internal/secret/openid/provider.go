package openid

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/parley-a2a/parley/auth"
	"github.com/parley-a2a/parley/auth/token"
)

var (
	// ErrUnavailable is wrapped by errors of a provider that does not answer, or not as OpenID
	// Connect requires.
	ErrUnavailable = errors.New("the OpenID provider cannot be used now")
	// ErrMismatch is wrapped by errors of an answer that does not belong to the attempt.
	ErrMismatch = errors.New("the answer belongs to another sign-in")
	// ErrRefused is wrapped by errors of a provider that has refused the sign-in, and of an ID token
	// that the hub refuses.
	ErrRefused = errors.New("sign-in rejected")
)

// Provider is an OpenID provider with the hub as its client. Its fields must not change after the
// first use.
type Provider struct {
	// Name is the name of the issuer in the hub, and URL its identifier. Both are required.
	Name, URL string
	// ClientID is the id of the hub at the provider. It is required. ClientSecret is its secret;
	// empty for a public client.
	ClientID, ClientSecret string
	// Scopes are requested. The default is openid and profile; openid is always requested.
	Scopes []string
	// Verifier verifies ID tokens. It is required, and has the issuer.
	Verifier *token.Verifier
	// Client sends the hub's requests to the provider. It is required, and follows no redirects.
	Client *http.Client

	mu   sync.Mutex // guards the fields below
	doc  *document
	read time.Time
}

// Attempt is a sign-in in progress. It is secret, except from the browser that began it.
type Attempt struct {
	// State and Nonce are in the address of the provider; Verifier is the secret of PKCE.
	State, Nonce, Verifier string
	// Redirect is the address to which the provider sends the browser back.
	Redirect string
}

// Session is a finished sign-in.
type Session struct {
	// Token is the ID token: a credential for requests in the context of Context.
	Token string
	// Expiry is the expiry of the token.
	Expiry time.Time

	facts *token.SignIn
}

// Context returns a context in which the token of a session is a credential.
func (s *Session) Context(ctx context.Context) context.Context {
	return token.WithSignIn(ctx, s.facts)
}

// Begin returns the address to which a browser is sent to sign in, and the attempt. redirect is the
// address to which the provider sends it back, exactly as it is registered there.
func (p *Provider) Begin(ctx context.Context, redirect string) (address string, a *Attempt, err error) {
	d, err := p.discover(ctx)
	if err != nil {
		return "", nil, fmt.Errorf("begin sign-in at %s: %w", p.Name, err)
	}
	a = &Attempt{State: rand.Text(), Nonce: rand.Text(), Verifier: verifier(), Redirect: redirect}
	return p.address(d, a), a, nil
}

// address returns the address of an attempt at the provider (OpenID Connect Core 1.0 §3.1.2.1,
// RFC 7636 §4.3).
func (p *Provider) address(d *document, a *Attempt) string {
	sum, join := sha256.Sum256([]byte(a.Verifier)), "?"
	if strings.Contains(d.Authorization, "?") {
		join = "&"
	}
	return d.Authorization + join + url.Values{
		"response_type": {"code"}, "client_id": {p.ClientID}, "redirect_uri": {a.Redirect}, "scope": {strings.Join(p.scopes(), " ")},
		"state": {a.State}, "nonce": {a.Nonce},
		"code_challenge": {base64.RawURLEncoding.EncodeToString(sum[:])}, "code_challenge_method": {"S256"},
	}.Encode()
}

// verifier returns a new secret of PKCE (RFC 7636 §4.1).
func verifier() string {
	b := make([]byte, 32)
	_, _ = rand.Read(b) // never fails
	return base64.RawURLEncoding.EncodeToString(b)
}

// scopes returns the scopes to request.
func (p *Provider) scopes() []string {
	scopes := slices.Clone(p.Scopes)
	if len(scopes) == 0 {
		scopes = []string{"profile"}
	}
	if !slices.Contains(scopes, "openid") {
		scopes = slices.Insert(scopes, 0, "openid")
	}
	return scopes
}

// Finish exchanges the answer that a browser brings back from the provider for a session.
func (p *Provider) Finish(ctx context.Context, a *Attempt, answer url.Values) (*Session, error) {
	s, err := p.finish(ctx, a, answer)
	if err != nil {
		return nil, fmt.Errorf("finish sign-in at %s: %w", p.Name, err)
	}
	return s, nil
}

func (p *Provider) finish(ctx context.Context, a *Attempt, answer url.Values) (*Session, error) {
	d, err := p.discover(ctx)
	if err != nil {
		return nil, err
	}
	if err := p.checkAnswer(d, a, answer); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, requestTime)
	defer cancel()
	got, err := p.exchange(ctx, d, url.Values{
		"grant_type": {"authorization_code"}, "code": {answer.Get("code")}, "redirect_uri": {a.Redirect}, "code_verifier": {a.Verifier},
	})
	if err != nil {
		return nil, err
	}
	text, _ := got["id_token"].(string)
	if text == "" {
		return nil, fmt.Errorf("%w: the provider gave no ID token", ErrUnavailable)
	}
	s := &Session{Token: text, facts: &token.SignIn{Issuer: p.Name, Client: p.ClientID, Nonce: a.Nonce, Scopes: p.scopes()}}
	if granted, ok := got["scope"].(string); ok {
		s.facts.Scopes = strings.Fields(granted)
	}
	if s.Expiry, err = p.Verifier.SignIn(ctx, text, s.facts); errors.Is(err, token.ErrToken) || lacksScope(err) {
		return nil, fmt.Errorf("%w: %w", ErrRefused, err)
	} else if err != nil {
		return nil, unavailable(err)
	}
	return s, nil
}

// lacksScope reports whether an ID token is refused because the provider has not granted a scope.
func lacksScope(err error) bool {
	_, ok := errors.AsType[*auth.ScopeError](err)
	return ok
}

// checkAnswer returns an error for an answer without a code for the attempt (OpenID Connect Core
// 1.0 §3.1.2.5 and §3.1.2.6).
func (p *Provider) checkAnswer(d *document, a *Attempt, answer url.Values) error {
	for name, values := range answer {
		if len(values) > 1 {
			return fmt.Errorf("%w: %.40q appears %d times", ErrMismatch, name, len(values))
		}
	}
	iss, named := answer.Get("iss"), answer.Has("iss")
	switch {
	case a.State == "" || subtle.ConstantTimeCompare([]byte(answer.Get("state")), []byte(a.State)) != 1:
		return fmt.Errorf("%w: another state", ErrMismatch)
	case named && iss != p.URL:
		return fmt.Errorf("%w: the issuer is %.200q", ErrMismatch, iss)
	case d.NamesIssuer && !named:
		return fmt.Errorf("%w: without an issuer", ErrMismatch)
	case answer.Get("error") != "":
		return fmt.Errorf("%w: %.80s: %.200s", ErrRefused, answer.Get("error"), answer.Get("error_description"))
	case answer.Get("code") == "":
		return fmt.Errorf("%w: without a code", ErrMismatch)
	}
	return nil
}

// SignOut returns the address at which a person signs out of the provider (OpenID Connect
// RP-Initiated Logout 1.0 §2); empty if the provider has none, or was not yet asked.
func (p *Provider) SignOut() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.doc == nil || p.doc.EndSession == "" {
		return ""
	}
	u, err := url.Parse(p.doc.EndSession)
	if err != nil {
		return ""
	}
	q := u.Query()
	q.Set("client_id", p.ClientID)
	u.RawQuery = q.Encode()
	return u.String()
}
