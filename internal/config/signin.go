package config

import (
	"fmt"
	"net/url"
	"slices"
	"strconv"

	"github.com/parley-a2a/parley/auth/token"
	"github.com/parley-a2a/parley/internal/file/yamlfile"
	"github.com/parley-a2a/parley/internal/outbound/safedial"
	"github.com/parley-a2a/parley/internal/secret/openid"
)

// SignIn lets people sign in to the console at an issuer of tokens that is an OpenID provider.
type SignIn struct {
	// ClientID is the id of the hub as a client of the provider. It is required.
	ClientID string `yaml:"client_id"`
	// ClientSecret is its secret. A public client has none.
	ClientSecret string `yaml:"client_secret"`
	// Scopes are requested. The default is openid, profile and required_scopes; openid is always
	// requested.
	Scopes []string `yaml:"scopes"`
	// Allow lists internal addresses of the provider's token endpoint, in the form of push.allow.
	// Public addresses and the host of the issuer are always allowed.
	Allow []string `yaml:"allow"`
}

// checkSignIn reports the problems of s without repeating the secret.
func checkSignIn(d *yamlfile.Decoder, at string, s *SignIn) {
	if s == nil {
		return
	}
	if s.ClientID == "" {
		d.Problem(nil, at+".client_id", "is missing: the provider issues it when you register the hub there")
	}
	for i, scope := range s.Scopes {
		if scope == "" || slices.ContainsFunc([]rune(scope), func(r rune) bool { return r <= ' ' || r > '~' }) {
			d.Problem(nil, at+".scopes["+strconv.Itoa(i)+"]", "%q is not a scope", yamlfile.Clip(scope))
		}
	}
	checkAllow(d, at+".allow", s.Allow)
}

// SignIns returns the providers at which people sign in to the console. v has the issuers.
func (a *Auth) SignIns(v *token.Verifier) ([]*openid.Provider, error) {
	var all []*openid.Provider
	for n := range a.Tokens {
		t := &a.Tokens[n]
		if t.SignIn == nil {
			continue
		}
		p, err := t.provider()
		if err != nil {
			return nil, fmt.Errorf("auth.tokens[%d].sign_in: %w", n, err)
		}
		p.Verifier = v
		all = append(all, p)
	}
	return all, nil
}

// provider returns the provider of t without a verifier.
func (t *TokenIssuer) provider() (*openid.Provider, error) {
	u, err := url.Parse(t.Issuer)
	if err != nil {
		return nil, err
	}
	policy, err := safedial.ParsePolicy(append([]string{u.Hostname()}, t.SignIn.Allow...))
	if err != nil {
		return nil, err
	}
	scopes := t.SignIn.Scopes
	if len(scopes) == 0 {
		scopes = append([]string{"openid", "profile"}, t.RequiredScopes...)
	}
	return &openid.Provider{
		Name: t.Name, URL: t.Issuer, ClientID: t.SignIn.ClientID, ClientSecret: t.SignIn.ClientSecret, Scopes: scopes,
		Client: policy.Client(),
	}, nil
}
