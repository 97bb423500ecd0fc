package config

import (
	"errors"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"

	"github.com/parley-a2a/parley/auth/token"
	"github.com/parley-a2a/parley/internal/file/yamlfile"
	"github.com/parley-a2a/parley/internal/outbound/httpcall"
	"github.com/parley-a2a/parley/internal/secret/tokenexchange"
)

// Identity configures how a remote agent or a program learns the identity of the caller. The
// zero value sends a remote agent nothing.
type Identity struct {
	// Mode is none; assertion (a token signed by the hub); exchange (a token that an
	// authorization server issues for the caller, RFC 8693); or forward (the caller's own
	// token). Programs only get assertions, in PARLEY_ASSERTION. All modes but none require an
	// https address, or one on this machine.
	Mode string `yaml:"mode" enum:"none,assertion,exchange,forward"`
	// Header is the header with the token. The default is Authorization, as a bearer token.
	Header string `yaml:"header"`
	// Audience is the audience of the token. The default is the scheme and host of the agent's
	// address, or the name of a program.
	Audience string `yaml:"audience"`
	// Claims are the claims about the caller in an assertion, besides the id: org, roles, name,
	// email, client_id, azp, scope.
	Claims []string `yaml:"claims"`
	// Anonymous is the id sent for callers without credentials. If empty, a remote agent is not
	// called for them, and a program gets no assertion.
	Anonymous string `yaml:"anonymous"`
	// TokenURL is the token endpoint of the authorization server; ClientID and ClientSecret are
	// the hub's credentials there. They are required for exchange.
	TokenURL     string `yaml:"token_url"`
	ClientID     string `yaml:"client_id"`
	ClientSecret string `yaml:"client_secret"`
	// Scope and Resource are the requested scope and resource of the token.
	Scope    string `yaml:"scope"`
	Resource string `yaml:"resource"`
}

// Known reports whether the agent learns the identity of the caller.
func (i *Identity) Known() bool { return i.mode() != tokenexchange.None }

// Bearers reports whether the mode needs the tokens of callers.
func (i *Identity) Bearers() bool {
	return i.mode() == tokenexchange.Forward || i.mode() == tokenexchange.Exchange
}

// Asserts reports whether the hub signs assertions.
func (i *Identity) Asserts() bool {
	return i.mode() == tokenexchange.Assertion || i.mode() == tokenexchange.Exchange
}

func (i *Identity) mode() tokenexchange.Mode {
	if i.Mode == "" {
		return tokenexchange.None
	}
	return tokenexchange.Mode(i.Mode)
}

// AssertTo returns the policy for sending the caller's identity to the agent; nil if it is not
// sent. asserter signs assertions.
func (a *Agent) AssertTo(asserter *token.Asserter) *tokenexchange.Policy {
	i := &a.Identity
	if !i.Known() {
		return nil
	}
	p := &tokenexchange.Policy{
		Mode: i.mode(), Name: i.Header, Audience: i.Audience, Claims: i.Claims, Anonymous: i.Anonymous, Asserter: asserter,
	}
	if p.Audience == "" && p.Mode == tokenexchange.Assertion {
		p.Audience = a.audience()
	}
	if p.Mode == tokenexchange.Exchange {
		p.Exchanger = &tokenexchange.Exchanger{
			TokenURL: i.TokenURL, ClientID: i.ClientID, ClientSecret: i.ClientSecret,
			Audience: i.Audience, Resource: i.Resource, Scope: i.Scope,
		}
		if i.Audience == "" && i.Resource == "" {
			p.Exchanger.Audience = a.audience()
		}
	}
	return p
}

// audience returns the default audience of assertions.
func (a *Agent) audience() string {
	if u, err := url.Parse(a.at().BaseURL); err == nil && a.Remotely() {
		return tokenexchange.Origin(u)
	}
	return a.Name
}

// Issuer returns the name of the hub in assertions.
func (c *Config) Issuer() string { return strings.TrimSuffix(c.PublicURL, "/") }

func checkIdentities(d *yamlfile.Decoder, c *Config) {
	for n := range c.Agents {
		a := &c.Agents[n]
		checkIdentity(d, "agents["+strconv.Itoa(n)+"].identity", a)
		if a.Identity.Asserts() && c.PublicURL != "" && !private(c.PublicURL) {
			d.Problem(nil, "agents["+strconv.Itoa(n)+"].identity.mode", "%s", needsIssuer(a))
		}
	}
	for n := range c.Auth.Tokens {
		if i := c.Auth.Tokens[n].Issuer; i != "" && strings.TrimSuffix(i, "/") == c.Issuer() {
			d.Problem(nil, "auth.tokens["+strconv.Itoa(n)+"].issuer", "is this hub: a token for other services must not be valid here")
		}
	}
}

func needsIssuer(a *Agent) string {
	return a.Identity.Mode + " needs a public_url that begins with https://: it is the issuer, and has the keys"
}

// CheckIssuer returns an error if the hub signs assertions but has no public address for its
// keys. The address may come from a flag.
func (c *Config) CheckIssuer() error {
	for n := range c.Agents {
		if a := &c.Agents[n]; a.Identity.Asserts() && !private(c.PublicURL) {
			return errors.New("agents[" + strconv.Itoa(n) + "].identity.mode: " + needsIssuer(a))
		}
	}
	return nil
}

// private reports whether traffic to an address cannot be read in transit.
func private(address string) bool {
	u, err := url.Parse(address)
	return err == nil && u.Host != "" && (u.Scheme == "https" || u.Scheme == "http" && httpcall.Loopback(u.Host))
}

func checkIdentity(d *yamlfile.Decoder, key string, a *Agent) {
	i := &a.Identity
	program := a.Programs()
	if i.Mode == "" && i.set() {
		d.Problem(nil, key+".mode", "is missing: none, assertion, exchange or forward")
	}
	switch {
	case !i.Known():
		return
	case !program && !a.Remotely():
		d.Problem(nil, key, "is for agents with a url, an endpoint or a command")
		return
	case program && (i.mode() != tokenexchange.Assertion || i.Header != ""):
		d.Problem(nil, key+".mode", "a program gets an assertion, in its environment, and nothing else")
		return
	case !program && !private(a.at().BaseURL):
		d.Problem(nil, key+".mode", "%s needs an address of the agent that begins with https://: any reader of a token can use it", i.Mode)
	}
	checkIdentityHeader(d, key+".header", a)
	if err := token.CheckClaims(i.Claims); err != nil {
		d.Problem(nil, key+".claims", "%v", err)
	}
	if i.mode() == tokenexchange.Forward && (i.Audience != "" || len(i.Claims) > 0 || i.Anonymous != "") {
		d.Problem(nil, key, "audience, claims and anonymous have no effect on a forwarded token")
	}
	checkExchange(d, key, i)
}

// set reports whether a field besides the mode is set.
func (i *Identity) set() bool {
	return len(i.Claims) > 0 || i.Header+i.Audience+i.Anonymous+i.TokenURL+i.ClientID+i.ClientSecret+i.Scope+i.Resource != ""
}

// checkExchange reports problems without repeating secrets.
func checkExchange(d *yamlfile.Decoder, key string, i *Identity) {
	if i.mode() != tokenexchange.Exchange {
		if i.TokenURL+i.ClientID+i.ClientSecret+i.Scope+i.Resource != "" {
			d.Problem(nil, key+".mode", "token_url, client_id, client_secret, scope and resource are for exchange")
		}
		return
	}
	for _, f := range []struct{ name, value string }{
		{"token_url", i.TokenURL}, {"client_id", i.ClientID}, {"client_secret", i.ClientSecret},
	} {
		if f.value == "" {
			d.Problem(nil, key+"."+f.name, "is missing")
		}
	}
	if i.TokenURL != "" && !private(i.TokenURL) {
		d.Problem(nil, key+".token_url", "must begin with https://")
	}
}

var ownHeader = regexp.MustCompile(`^(?i:x-[a-z0-9-]+)$`)

// checkIdentityHeader reports a header that has another meaning, or carries the hub's own
// credentials.
func checkIdentityHeader(d *yamlfile.Decoder, key string, a *Agent) {
	name := http.CanonicalHeaderKey(a.Identity.Header)
	if name == "" {
		name = tokenexchange.Authorization
	}
	if name != tokenexchange.Authorization && (!ownHeader.MatchString(name) || strings.HasPrefix(name, "X-Forwarded-") || strings.HasPrefix(name, "X-Parley-")) {
		d.Problem(nil, key, "is Authorization, or a name like X-Caller")
		return
	}
	x := &a.at().Auth
	carries := http.CanonicalHeaderKey(x.Name)
	switch x.Type {
	case "bearer", "oauth2":
		carries = tokenexchange.Authorization
	case "apiKey":
		if name == tokenexchange.Authorization || name == "X-Api-Key" {
			carries = name // the card names it
		}
	}
	if x.Type != "" && carries == name {
		d.Problem(nil, key, "%s is set by endpoint.auth; use another header, such as X-Caller", name)
	}
}
