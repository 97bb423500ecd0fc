package transport

import (
	"errors"
	"fmt"
	"log/slog"

	"github.com/parley-a2a/parley/internal/outbound/httpcall"
)

// ErrCredentials means that the credentials cannot be used. The error text describes the
// problem, without their values.
var ErrCredentials = errors.New("credentials")

// Schemes of [Credentials].
const (
	SchemeAPIKey = "apiKey"
	SchemeBearer = "bearer"
)

// Credentials authenticate a caller to an agent. The zero Credentials are none. They are sent
// over HTTP and as metadata of gRPC, and only to the configured host. No value is ever printed.
type Credentials struct {
	// Key is sent as a bearer token, and as an API key as well if the card declares one
	// in a header.
	Key string
	// APIKey is sent according to the card's security schemes: as an API key in a header, a
	// query parameter or a cookie, or else as a bearer token; without a scheme in the card, in
	// X-API-Key.
	APIKey string
	// APIKeyEnv names the environment variable with the APIKey. It is read for each call.
	APIKeyEnv string
	// Scheme, if set, selects how the APIKey is sent, whatever the card declares: apiKey or
	// bearer.
	Scheme string
	// Bearer is sent as Authorization: Bearer.
	Bearer string
	// HeaderName and HeaderValueBase64 are an arbitrary header, with its value in base64.
	HeaderName        string
	HeaderValueBase64 string
	// OAuth2 gets bearer tokens by the client credentials flow.
	OAuth2 *ClientCredentials
	// TLS holds the caller's certificate and the trusted authorities.
	TLS *TLS
	// AnyHost sends the credentials to all hosts that the card names. Otherwise they are sent
	// only to the configured host, on any of its ports.
	AnyHost bool
}

// ClientCredentials are the client credentials of OAuth 2.0 (RFC 6749 section 4.4).
type ClientCredentials struct {
	// TokenURL is the token endpoint. If empty, it is that of the card, if that is on the
	// configured host.
	TokenURL string
	ClientID string
	// ClientSecret is the secret; ClientSecretEnv names the environment variable with it.
	ClientSecret, ClientSecretEnv string
	Scopes                        []string
	// Params are further parameters for the provider, such as the audience.
	Params map[string]string
	// InBody sends id and secret in the body instead of as HTTP Basic.
	InBody bool
}

// TLS names files in PEM.
type TLS struct {
	// CertFile and KeyFile are the caller's certificate and its key. They are reread when they
	// have changed.
	CertFile, KeyFile string
	// CAFile are the authorities that are trusted instead of the system's.
	CAFile string
}

// hiddenText replaces credentials wherever they are printed.
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

// Check returns an error that describes the first invalid field, without values.
func (c *Credentials) Check() error {
	if c.Scheme != "" && c.Scheme != SchemeAPIKey && c.Scheme != SchemeBearer {
		return refuse("the scheme %q must be %s or %s", c.Scheme, SchemeAPIKey, SchemeBearer)
	}
	if (c.HeaderName == "") != (c.HeaderValueBase64 == "") {
		return refuse("a header needs both a name and a value")
	}
	if c.HeaderName != "" {
		value, err := httpcall.DecodeHeader(c.HeaderValueBase64)
		if err != nil {
			return refuse("the value of header %q is not base64", c.HeaderName)
		}
		if !httpcall.HeaderName(c.HeaderName) || !httpcall.HeaderValue(value) {
			return refuse("header %q is not a header", c.HeaderName)
		}
	}
	for name, v := range map[string]string{"key": c.Key, "API key": c.APIKey, "bearer token": c.Bearer} {
		if !httpcall.HeaderValue(v) {
			return refuse("the %s cannot be sent in a header", name)
		}
	}
	if c.OAuth2 != nil && c.OAuth2.ClientID == "" {
		return refuse("OAuth2 needs a client id")
	}
	return nil
}

// refuse returns an error about credentials, without their values.
func refuse(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrCredentials, fmt.Sprintf(format, args...))
}
