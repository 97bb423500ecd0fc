package peer

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"strings"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/internal/file/tlsfile"
	"github.com/parley-a2a/parley/internal/outbound/httpcall"
	"github.com/parley-a2a/parley/internal/outbound/transport"
)

// defaultKeyHeader is the header of an API key if the card names none.
const defaultKeyHeader = "X-API-Key"

// refuse returns an error about credentials, without their values.
func refuse(format string, args ...any) error {
	return fmt.Errorf("%w: %s", transport.ErrCredentials, fmt.Sprintf(format, args...))
}

// veil removes the credentials from the error text of an agent, because callers and logs get
// it.
func veil(c *transport.Credentials, err error) error {
	var agent *transport.Error
	if !errors.As(err, &agent) {
		return err
	}
	secrets := []string{c.Key, c.APIKey, c.Bearer}
	if value, err := httpcall.DecodeHeader(c.HeaderValueBase64); err == nil {
		secrets = append(secrets, value)
	}
	if c.APIKeyEnv != "" {
		secrets = append(secrets, strings.TrimSpace(os.Getenv(c.APIKeyEnv)))
	}
	agent.Message = httpcall.Hide(agent.Message, secrets...)
	for k, v := range agent.Meta {
		agent.Meta[k] = httpcall.Hide(v, secrets...)
	}
	return err
}

// fromEnv reads a secret from the environment.
func fromEnv(name string) (string, error) {
	v, ok := os.LookupEnv(name)
	if !ok || v == "" {
		return "", refuse("the environment variable %s is not set", name)
	}
	v = strings.TrimSpace(v)
	if !httpcall.HeaderValue(v) {
		return "", refuse("the environment variable %s cannot be sent in a header", name)
	}
	return v, nil
}

// shown holds the credentials of a call.
type shown struct {
	header http.Header
	query  url.Values
	cookie []*http.Cookie
}

func (s *shown) bearer(token string) { s.header.Set("Authorization", "Bearer "+token) }

// authorizer adds credentials to calls. It is safe for concurrent use.
type authorizer struct {
	creds  *transport.Credentials
	card   *a2a.AgentCard // nil for the request of the card itself
	tokens *tokens
}

// show returns the credentials of a call.
func (a *authorizer) show(ctx context.Context) (*shown, error) {
	s := &shown{header: make(http.Header), query: make(url.Values)}
	c := a.creds
	if c.Key != "" {
		s.bearer(c.Key)
		for _, k := range a.keys() {
			if k.Location == a2a.APIKeySecuritySchemeLocationHeader {
				s.header.Set(k.Name, c.Key)
			}
		}
	}
	key := c.APIKey
	if key == "" && c.APIKeyEnv != "" {
		var err error
		if key, err = fromEnv(c.APIKeyEnv); err != nil {
			return nil, err
		}
	}
	if key != "" {
		a.apiKey(s, key)
	}
	if c.Bearer != "" {
		s.bearer(c.Bearer)
	}
	if c.HeaderName != "" {
		value, _ := httpcall.DecodeHeader(c.HeaderValueBase64)
		s.header.Set(c.HeaderName, value)
	}
	if a.tokens != nil && a.card != nil {
		token, err := a.tokens.get(ctx)
		if err != nil {
			return nil, err
		}
		s.bearer(token)
	}
	return s, nil
}

// apiKey adds a key in the configured scheme, or else in the card's.
func (a *authorizer) apiKey(s *shown, key string) {
	keys := a.keys()
	if a.creds.Scheme == transport.SchemeBearer || a.creds.Scheme == "" && len(keys) == 0 && a.bearers() {
		s.bearer(key)
		return
	}
	if len(keys) == 0 {
		s.header.Set(defaultKeyHeader, key)
		return
	}
	for _, k := range keys {
		switch k.Location {
		case a2a.APIKeySecuritySchemeLocationQuery:
			s.query.Set(k.Name, key)
		case a2a.APIKeySecuritySchemeLocationCookie:
			s.cookie = append(s.cookie, &http.Cookie{Name: k.Name, Value: key})
		default:
			s.header.Set(k.Name, key)
		}
	}
}

// keys returns the API key schemes of the card that have usable names: the required ones, or
// all if none is required.
func (a *authorizer) keys() []a2a.APIKeySecurityScheme {
	var all, required []a2a.APIKeySecurityScheme
	if a.card == nil {
		return nil
	}
	for name, scheme := range a.card.SecuritySchemes {
		k, ok := scheme.(a2a.APIKeySecurityScheme)
		if !ok || !httpcall.HeaderName(k.Name) || unsafeName(k.Name) {
			continue
		}
		all = append(all, k)
		if a.requires(name) {
			required = append(required, k)
		}
	}
	if len(required) > 0 {
		return required
	}
	return all
}

// unsafeName reports whether a header must not be chosen by a card, because it would change the
// meaning of the request.
func unsafeName(name string) bool {
	switch http.CanonicalHeaderKey(name) {
	case "Host", "Content-Length", "Content-Type", "Content-Encoding", "Transfer-Encoding", "Connection", "Upgrade",
		"Te", "Trailer", "Accept", "A2a-Version", "Last-Event-Id", "Idempotency-Key":
		return true
	}
	return false
}

func (a *authorizer) requires(name a2a.SecuritySchemeName) bool {
	for _, r := range a.card.SecurityRequirements {
		if _, ok := r[name]; ok {
			return true
		}
	}
	return false
}

// bearers reports whether the card declares a scheme whose token is a bearer.
func (a *authorizer) bearers() bool {
	if a.card == nil {
		return false
	}
	for _, scheme := range a.card.SecuritySchemes {
		switch s := scheme.(type) {
		case a2a.HTTPAuthSecurityScheme:
			if strings.EqualFold(s.Scheme, "bearer") {
				return true
			}
		case a2a.OAuth2SecurityScheme, a2a.OpenIDConnectSecurityScheme:
			return true
		}
	}
	return false
}

// clientWith returns base with the caller's certificate.
func clientWith(t *transport.TLS, base *http.Client) (*http.Client, error) {
	config, err := tlsConfig(t)
	if err != nil {
		return nil, err
	}
	out := new(http.Client)
	transport := httpcall.Transport()
	if base != nil {
		*out = *base
		if base.Transport != nil {
			own, ok := base.Transport.(*http.Transport)
			if !ok {
				return nil, refuse("a certificate needs an *http.Transport, not a %T", base.Transport)
			}
			transport = own.Clone()
		}
	}
	if transport.TLSClientConfig != nil {
		merged := transport.TLSClientConfig.Clone()
		merged.Certificates, merged.GetClientCertificate = nil, config.GetClientCertificate
		if config.RootCAs != nil {
			merged.RootCAs = config.RootCAs
		}
		config = merged
	}
	transport.TLSClientConfig = config
	out.Transport = transport
	return out, nil
}

func tlsConfig(t *transport.TLS) (*tls.Config, error) {
	config, err := tlsfile.Client(tlsfile.ClientFiles{Cert: t.CertFile, Key: t.KeyFile, CA: t.CAFile})
	if err != nil {
		return nil, fmt.Errorf("%w: certificate: %w", transport.ErrCredentials, err)
	}
	return config, nil
}
