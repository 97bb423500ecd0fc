package webhooks

import (
	"encoding/json"
	"errors"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/google/uuid"

	"github.com/parley-a2a/parley/internal/apierror"
	"github.com/parley-a2a/parley/internal/task"
)

// The largest parts of a config, in bytes.
const (
	maxToken       = 4 << 10
	maxCredentials = 8 << 10
	maxScheme      = 64
	maxID          = 128
)

// secrets is the sealed part of a config.
type secrets struct {
	Token       string `json:"token,omitempty"`
	Credentials string `json:"credentials,omitempty"`
	// Key names the API key or certificate with which the webhook ends.
	Key string `json:"key,omitempty"`
}

// Prepare implements engine.Pusher.
func (d *Dispatcher) Prepare(c *task.HookRequest) (*task.Hook, error) {
	if err := d.check(c); err != nil {
		return nil, err
	}
	h := &task.Hook{ID: c.ID, URL: c.URL, Dialect: c.Dialect, Scheme: c.Scheme, CreatedAt: task.MillisOf(time.Now())}
	if h.ID == "" {
		id, err := uuid.NewV7()
		if err != nil {
			return nil, err
		}
		h.ID = id.String()
	}
	s := secrets{Token: c.Token, Credentials: c.Credentials, Key: c.Credential}
	if s == (secrets{}) {
		return h, nil
	}
	plain, err := json.Marshal(s)
	if err != nil {
		return nil, err
	}
	// The secrets are bound to the URL: write access to the store alone does not suffice to
	// send them elsewhere.
	h.Secret = d.cfg.Sealer.Seal(plain, []byte(c.URL))
	return h, nil
}

// check returns an error if a config is invalid.
func (d *Dispatcher) check(c *task.HookRequest) error {
	if c.URL == "" {
		return wrong("url", "is required")
	}
	if err := d.policy.CheckURL(c.URL); err != nil {
		return wrong("url", "%s", err.Error())
	}
	switch {
	case len(c.ID) > maxID:
		return wrong("id", "has %d bytes; the maximum is %d", len(c.ID), maxID)
	case !printable(c.ID):
		return wrong("id", "contains a control character")
	case len(c.Token) > maxToken:
		return wrong("token", "has %d bytes; the maximum is %d", len(c.Token), maxToken)
	case !headerSafe(c.Token):
		return wrong("token", "contains a character that a header cannot hold")
	case len(c.Scheme) > maxScheme:
		return wrong("authentication.scheme", "has %d bytes; the maximum is %d", len(c.Scheme), maxScheme)
	case c.Scheme != "" && !isToken(c.Scheme):
		return wrong("authentication.scheme", "is not the name of a scheme, such as Bearer")
	case c.Scheme == "" && c.Credentials != "":
		return wrong("authentication.scheme", "is required with credentials")
	case len(c.Credentials) > maxCredentials:
		return wrong("authentication.credentials", "has %d bytes; the maximum is %d", len(c.Credentials), maxCredentials)
	case !headerSafe(c.Credentials):
		return wrong("authentication.credentials", "contains a character that a header cannot hold")
	}
	return nil
}

func wrong(field, format string, args ...any) error {
	return apierror.Field(a2a.ErrInvalidParams, field, format, args...)
}

// printable reports whether s is text without control characters.
func printable(s string) bool {
	return utf8.ValidString(s) && !strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r >= 0x7f && r < 0xa0 })
}

// headerSafe reports whether s can be the value of a header without being changed (RFC 9110
// §5.5): visible ASCII with spaces inside.
func headerSafe(s string) bool {
	for i := range len(s) {
		if s[i] < ' ' || s[i] > '~' {
			return false
		}
	}
	return strings.TrimSpace(s) == s
}

// isToken reports whether s is a token (RFC 9110 §5.6.2).
func isToken(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool {
		alphanumeric := r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z'
		return !alphanumeric && !strings.ContainsRune("!#$%&'*+-.^_`|~", r)
	})
}

// errSealed is the reason of dead letters whose secrets cannot be opened. Its text is for
// operators.
var errSealed = errors.New("its secrets cannot be opened: the hub's master key has changed since it was registered")

// unseal returns the secrets of a target.
func (d *Dispatcher) unseal(t *target) (secrets, error) {
	var s secrets
	if t.secret == nil {
		return s, nil
	}
	plain, err := d.cfg.Sealer.Open(t.secret, []byte(t.url))
	if err == nil {
		err = json.Unmarshal(plain, &s)
	}
	if err != nil {
		return s, errSealed
	}
	return s, nil
}
