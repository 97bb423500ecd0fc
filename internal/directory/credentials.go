package directory

import (
	"cmp"
	"encoding/base64"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"strings"

	"github.com/parley-a2a/parley/internal/clip"
)

// Credentials are sent by the hub to an agent. The zero value sends none. No text form of
// Credentials contains the values.
type Credentials struct {
	// APIKey is sent in the header named by the agent's card, or else in X-API-Key. APIKeyEnv
	// is the name of an environment variable with the key; it is read at each use.
	APIKey, APIKeyEnv string
	// Bearer is a token for the Authorization header; BearerEnv is the name of an environment
	// variable with one.
	Bearer, BearerEnv string
	// HeaderName and HeaderValue are an arbitrary header.
	HeaderName, HeaderValue string
}

// Check returns an error if the credentials cannot be sent.
func (c *Credentials) Check() error {
	switch {
	case (c.HeaderName == "") != (c.HeaderValue == ""):
		return errors.New("credentials: a header needs a name and a value")
	case strings.ContainsFunc(c.HeaderName, func(r rune) bool { return !tokenRune(r) }):
		return errors.New("credentials: the name of the header has a character that it cannot have")
	case strings.ContainsAny(c.HeaderValue+c.Bearer+c.APIKey, "\r\n\x00"):
		return errors.New("credentials: a value has a character that a header cannot carry")
	}
	return nil
}

// tokenRune reports whether a header name may contain r (RFC 9110 §5.6.2).
func tokenRune(r rune) bool {
	return r > ' ' && r < 0x7f && !strings.ContainsRune(`"(),/:;<=>?@[\]{}`, r)
}

// Header returns the headers to send. It reads environment variables with lookup; a missing
// variable is an error.
func (c *Credentials) Header(lookup func(string) (string, bool)) (http.Header, error) {
	h := make(http.Header)
	env := func(name string) (string, error) {
		if value, ok := lookup(name); ok && value != "" {
			return value, nil
		}
		return "", fmt.Errorf("the environment variable %s is not set", name)
	}
	key := c.APIKey
	if c.APIKeyEnv != "" {
		value, err := env(c.APIKeyEnv)
		if err != nil {
			return nil, err
		}
		key = cmp.Or(key, value)
	}
	if key != "" {
		h.Set("X-Api-Key", key)
	}
	bearer := c.Bearer
	if c.BearerEnv != "" {
		token, err := env(c.BearerEnv)
		if err != nil {
			return nil, err
		}
		bearer = cmp.Or(bearer, token)
	}
	if bearer != "" {
		h.Set("Authorization", "Bearer "+bearer)
	}
	if c.HeaderName != "" {
		h.Set(c.HeaderName, c.HeaderValue)
	}
	return h, nil
}

// DecodeHeaderValue decodes a base64-encoded header value. The encoding protects the value from
// being read by accident.
func DecodeHeaderValue(text string) (string, error) {
	b, err := base64.StdEncoding.DecodeString(strings.TrimSpace(text))
	if err != nil {
		return "", errors.New("is not base64")
	}
	return strings.TrimRight(string(b), "\r\n"), nil
}

// Kind describes the credentials without their values; it returns "none" for the zero value.
func (c Credentials) Kind() string {
	var kinds []string
	switch {
	case c.APIKey != "":
		kinds = append(kinds, "API key")
	case c.APIKeyEnv != "":
		kinds = append(kinds, "API key from "+c.APIKeyEnv)
	}
	switch {
	case c.Bearer != "":
		kinds = append(kinds, "bearer token")
	case c.BearerEnv != "":
		kinds = append(kinds, "bearer token from "+c.BearerEnv)
	}
	if c.HeaderName != "" {
		kinds = append(kinds, "header "+http.CanonicalHeaderKey(c.HeaderName))
	}
	return cmp.Or(strings.Join(kinds, ", "), "none")
}

// String returns Kind.
func (c Credentials) String() string { return c.Kind() }

// GoString returns Kind.
func (c Credentials) GoString() string { return c.Kind() }

// LogValue returns Kind.
func (c Credentials) LogValue() slog.Value { return slog.StringValue(c.Kind()) }

// MarshalText returns Kind.
func (c Credentials) MarshalText() ([]byte, error) { return []byte(c.Kind()), nil }

// checkURL returns an error if raw is not a valid address of an agent.
func checkURL(raw string) error {
	u, err := url.Parse(raw)
	switch {
	case err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https":
		return fmt.Errorf("%q is not a URL like https://agent.example", clip.Runes(redact(raw), maxQuoted))
	case u.User != nil:
		return errors.New("the URL has a user; credentials belong in auth")
	case u.Fragment != "":
		return errors.New("the URL has a fragment")
	}
	return nil
}

// redact removes the password or user from a URL.
func redact(raw string) string {
	if u, err := url.Parse(raw); err == nil {
		return u.Redacted()
	}
	if i := strings.LastIndexByte(raw, '@'); i >= 0 {
		return "…" + raw[i:]
	}
	return raw
}

// maxQuoted limits quoted text in errors, in characters.
const maxQuoted = 80
