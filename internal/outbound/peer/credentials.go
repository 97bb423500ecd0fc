package peer

import (
	"context"
	"crypto/tls"
	"encoding/base64"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"strings"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/internal/file/tlsfile"
	"github.com/parley-a2a/parley/internal/outbound/httpcall"
)

// errCredentials: the credentials cannot be used as they are.
var errCredentials = errors.New("credentials")

// Schemes of [Credentials].
const (
	SchemeAPIKey = "apiKey"
	SchemeBearer = "bearer"
)

// defaultKeyHeader carries an API key if the card names no header for it.
const defaultKeyHeader = "X-API-Key"

// Credentials are what a caller shows to an agent. The zero Credentials are none. They
// are sent over HTTP and as metadata of gRPC, and only to the host that was configured.
// No value is ever printed.
type Credentials struct {
	// Key is sent as a bearer token, and as an API key as well if the card declares one
	// in a header.
	Key string
	// APIKey is sent as the card's security says: as an API key in a header, a query
	// parameter or a cookie, or else as a bearer token; without anything in the card,
	// in X-API-Key.
	APIKey string
	// APIKeyEnv names the environment variable with the APIKey. It is read for each call.
	APIKeyEnv string
	// Scheme, if set, decides how the APIKey is sent, whatever the card says: apiKey or
	// bearer.
	Scheme string
	// Bearer is sent as Authorization: Bearer.
	Bearer string
	// HeaderName and HeaderValueBase64 are any header, and its value in base64.
	HeaderName        string
	HeaderValueBase64 string
	// OAuth2 gets bearer tokens by the client credentials flow.
	OAuth2 *ClientCredentials
	// TLS is the caller's certificate and whom it trusts.
	TLS *TLS
	// AnyHost sends the credentials to all hosts that the card names. Otherwise they
	// go to the host alone that was configured, on any of its ports.
	AnyHost bool
}

// ClientCredentials are those of OAuth 2.0 (RFC 6749 section 4.4).
type ClientCredentials struct {
	// TokenURL is where tokens come from. If empty, it is that of the card, if that is
	// on the host that was configured.
	TokenURL string
	ClientID string
	// ClientSecret is the secret; ClientSecretEnv names the environment variable with it.
	ClientSecret, ClientSecretEnv string
	Scopes                        []string
	// Audience and the other parameters that a provider wants.
	Params map[string]string
	// InBody sends id and secret in the body instead of as HTTP Basic.
	InBody bool
}

// TLS are files in PEM.
type TLS struct {
	// CertFile and KeyFile are the caller's certificate and its key. They are read again
	// when they have changed.
	CertFile, KeyFile string
	// CAFile are the authorities that are trusted instead of the system's.
	CAFile string
}

// hiddenText stands for credentials wherever they are printed.
const hiddenText = "[credentials]"

// String does not show the credentials.
func (c Credentials) String() string { return hiddenText }

// GoString does not show the credentials.
func (c Credentials) GoString() string { return hiddenText }

// LogValue does not show the credentials.
func (c Credentials) LogValue() slog.Value { return slog.StringValue(hiddenText) }

// MarshalJSON does not show the credentials.
func (c Credentials) MarshalJSON() ([]byte, error) { return []byte(`"` + hiddenText + `"`), nil }

// String does not show the credentials.
func (c ClientCredentials) String() string { return hiddenText }

// GoString does not show the credentials.
func (c ClientCredentials) GoString() string { return hiddenText }

// LogValue does not show the credentials.
func (c ClientCredentials) LogValue() slog.Value { return slog.StringValue(hiddenText) }

// MarshalJSON does not show the credentials.
func (c ClientCredentials) MarshalJSON() ([]byte, error) { return []byte(`"` + hiddenText + `"`), nil }

// refuse returns an error about credentials, without their values.
func refuse(format string, args ...any) error {
	return fmt.Errorf("%w: %s", errCredentials, fmt.Sprintf(format, args...))
}

// Check returns an error that names what is wrong, and no values.
func (c *Credentials) Check() error {
	if c.Scheme != "" && c.Scheme != SchemeAPIKey && c.Scheme != SchemeBearer {
		return refuse("scheme %q is neither %s nor %s", c.Scheme, SchemeAPIKey, SchemeBearer)
	}
	if (c.HeaderName == "") != (c.HeaderValueBase64 == "") {
		return refuse("a header needs both a name and a value")
	}
	if c.HeaderName != "" {
		value, err := decodeHeader(c.HeaderValueBase64)
		if err != nil {
			return refuse("the value of header %q is not base64", c.HeaderName)
		}
		if !headerName(c.HeaderName) || !headerValue(value) {
			return refuse("header %q is not a header", c.HeaderName)
		}
	}
	for name, v := range map[string]string{"key": c.Key, "API key": c.APIKey, "bearer token": c.Bearer} {
		if !headerValue(v) {
			return refuse("the %s cannot be sent in a header", name)
		}
	}
	if c.OAuth2 != nil && c.OAuth2.ClientID == "" {
		return refuse("OAuth2 needs a client id")
	}
	return nil
}

// veil takes the credentials out of what an agent says is wrong: it goes to callers and to
// logs.
func (c *Credentials) veil(err error) error {
	var agent *Error
	if !errors.As(err, &agent) {
		return err
	}
	secrets := []string{c.Key, c.APIKey, c.Bearer}
	if value, err := decodeHeader(c.HeaderValueBase64); err == nil {
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

func decodeHeader(v string) (string, error) {
	b, err := base64.StdEncoding.DecodeString(strings.TrimSpace(v))
	if err != nil {
		b, err = base64.RawURLEncoding.DecodeString(strings.TrimSpace(v))
	}
	return string(b), err
}

// fromEnv reads a secret from the environment.
func fromEnv(name string) (string, error) {
	v, ok := os.LookupEnv(name)
	if !ok || v == "" {
		return "", refuse("the environment variable %s is not set", name)
	}
	v = strings.TrimSpace(v)
	if !headerValue(v) {
		return "", refuse("the environment variable %s cannot be sent in a header", name)
	}
	return v, nil
}

// headerName reports whether s can name a header (RFC 9110 section 5.6.2).
func headerName(s string) bool {
	return s != "" && strings.IndexFunc(s, func(r rune) bool {
		return !strings.ContainsRune("!#$%&'*+-.^_`|~", r) &&
			(r < '0' || r > '9') && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z')
	}) < 0
}

// headerValue reports whether s can be the value of a header.
func headerValue(s string) bool {
	return strings.IndexFunc(s, func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }) < 0
}

// shown is what a call carries.
type shown struct {
	header http.Header
	query  url.Values
	cookie []*http.Cookie
}

func (s *shown) bearer(token string) { s.header.Set("Authorization", "Bearer "+token) }

// authorizer shows credentials. It is safe for concurrent use.
type authorizer struct {
	creds  *Credentials
	card   *a2a.AgentCard // nil for the request of the card itself
	tokens *tokens
}

// show returns what a call carries.
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
		value, _ := decodeHeader(c.HeaderValueBase64)
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

// apiKey shows a key by the configured scheme, or else by the card's.
func (a *authorizer) apiKey(s *shown, key string) {
	keys := a.keys()
	if a.creds.Scheme == SchemeBearer || a.creds.Scheme == "" && len(keys) == 0 && a.bearers() {
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

// keys are the API keys that the card declares and whose names can be used: those that
// it requires, or all if it requires none.
func (a *authorizer) keys() []a2a.APIKeySecurityScheme {
	var all, required []a2a.APIKeySecurityScheme
	if a.card == nil {
		return nil
	}
	for name, scheme := range a.card.SecuritySchemes {
		k, ok := scheme.(a2a.APIKeySecurityScheme)
		if !ok || !headerName(k.Name) || unsafeName(k.Name) {
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

// unsafeName reports whether a card must not choose a header: it would change what the
// request means.
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

// client returns base with the caller's certificate.
func (t *TLS) client(base *http.Client) (*http.Client, error) {
	config, err := t.config()
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

func (t *TLS) config() (*tls.Config, error) {
	config, err := tlsfile.Client(tlsfile.ClientFiles{Cert: t.CertFile, Key: t.KeyFile, CA: t.CAFile})
	if err != nil {
		return nil, fmt.Errorf("%w: certificate: %w", errCredentials, err)
	}
	return config, nil
}
