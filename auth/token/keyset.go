package token

import (
	"context"
	"crypto/rsa"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/go-jose/go-jose/v4"

	"github.com/parley-a2a/parley/internal/apierror"
	"github.com/parley-a2a/parley/internal/outbound/httpcall"
)

const (
	// fresh is the age up to which keys are used without being read again.
	fresh = 10 * time.Minute
	// stale is the age up to which keys are used while the issuer does not answer.
	stale = 24 * time.Hour
	// pause is the minimum interval between two reads of the keys.
	pause = time.Second
	// fetchTimeout limits the duration of a read of the keys.
	fetchTimeout = 10 * time.Second
	// maxDocument limits the size of a key set or discovery document, in bytes.
	maxDocument = 1 << 20
	// maxKeys limits the number of keys of an issuer.
	maxKeys = 100
	// maxWaiting limits the number of tokens that wait for the keys of an issuer.
	maxWaiting = 256
)

// errNoKeys is returned while the keys of an issuer are unknown.
var errNoKeys = &apierror.Error{
	Err: apierror.ErrUnavailable, Message: "the keys of the token's issuer cannot be read now", RetryAfter: 5 * time.Second,
}

// keySet caches the keys of an issuer.
type keySet struct {
	issuer *Issuer
	client *http.Client
	logger *slog.Logger
	fixed  []jose.JSONWebKey // set if the issuer's keys are not fetched

	// reading is a lock with a wait that a context can end.
	reading chan struct{}
	waiting chan struct{}

	mu   sync.Mutex // guards the fields below
	keys []jose.JSONWebKey
	read time.Time // time of the last successful read
	// tried is the time of the last attempt to read the keys, and failed its error.
	tried  time.Time
	failed error
}

func newKeySet(i *Issuer, client *http.Client, logger *slog.Logger) *keySet {
	s := &keySet{
		issuer: i, client: client, logger: logger,
		reading: make(chan struct{}, 1), waiting: make(chan struct{}, maxWaiting),
	}
	if i.Keys != nil {
		s.fixed, _ = parseKeySet(i.Keys) // validated by Issuer.Check
	}
	if s.logger == nil {
		s.logger = slog.New(slog.DiscardHandler)
	}
	return s
}

// find returns the keys that may have signed a token with kid in its header.
func (s *keySet) find(ctx context.Context, kid string) ([]jose.JSONWebKey, error) {
	if s.fixed != nil {
		return named(s.fixed, kid), nil
	}
	asked := time.Now()
	keys, age := s.known()
	found := named(keys, kid)
	if len(found) > 0 && age < fresh {
		return found, nil
	}
	if err := s.refresh(ctx, asked); err != nil {
		return nil, err
	}
	if keys, age = s.known(); len(keys) == 0 || age >= stale {
		return nil, errNoKeys
	}
	found = named(keys, kid)
	if len(found) == 0 && s.failing() {
		return nil, errNoKeys // the key may be a new one
	}
	return found, nil
}

// known returns the keys and their age.
func (s *keySet) known() ([]jose.JSONWebKey, time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.keys, time.Since(s.read)
}

// failing reports whether the last read has failed.
func (s *keySet) failing() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.failed != nil
}

// named returns the keys with an id. If the id is empty and there is only one key, it returns
// that key.
func named(keys []jose.JSONWebKey, kid string) []jose.JSONWebKey {
	if kid == "" && len(keys) == 1 {
		return keys
	}
	var out []jose.JSONWebKey
	for _, k := range keys {
		if kid != "" && k.KeyID == kid {
			out = append(out, k)
		}
	}
	return out
}

// refresh reads the keys again, unless they were read after asked. One caller reads for all
// that wait, at most once per pause. The result is stored in s. The error means that ctx has
// ended, or that too many callers wait.
func (s *keySet) refresh(ctx context.Context, asked time.Time) error {
	select {
	case s.waiting <- struct{}{}:
		defer func() { <-s.waiting }()
	default:
		return errNoKeys
	}
	select {
	case s.reading <- struct{}{}:
		defer func() { <-s.reading }()
	case <-ctx.Done():
		return ctx.Err()
	}
	s.mu.Lock()
	tried := s.tried
	s.mu.Unlock()
	if tried.After(asked) {
		return nil
	}
	select {
	case <-time.After(time.Until(tried.Add(pause))):
	case <-ctx.Done():
		return ctx.Err()
	}
	// The read must not be canceled for the waiting callers when the caller that performs it
	// disconnects.
	reading, cancel := context.WithTimeout(context.WithoutCancel(ctx), fetchTimeout)
	defer cancel()
	keys, err := s.fetch(reading)
	s.note(keys, err)
	return nil
}

// note stores the result of a read, and logs when reads begin to fail or to succeed.
func (s *keySet) note(keys []jose.JSONWebKey, err error) {
	s.mu.Lock()
	before := s.failed
	s.tried, s.failed = time.Now(), err
	if err == nil {
		s.keys, s.read = keys, s.tried
	}
	s.mu.Unlock()
	switch {
	case err != nil && before == nil:
		s.logger.Warn("a token issuer's keys cannot be read", "issuer", s.issuer.Name, "error", err)
	case err == nil && before != nil:
		s.logger.Info("a token issuer's keys can be read again", "issuer", s.issuer.Name)
	}
}

// fetch reads the keys from the issuer.
func (s *keySet) fetch(ctx context.Context) ([]jose.JSONWebKey, error) {
	address := s.issuer.KeysURL
	if address == "" {
		var err error
		if address, err = s.discover(ctx); err != nil {
			return nil, err
		}
	}
	text, err := s.get(ctx, address)
	if err != nil {
		return nil, err
	}
	keys, err := parseKeySet(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", address, err)
	}
	return keys, nil
}

// discoveryPath is the path of the metadata below an issuer's address.
const discoveryPath = "/.well-known/openid-configuration"

// discover returns the address of the key set from the issuer's metadata (OpenID Connect
// Discovery 1.0 §4, RFC 8414 §3).
func (s *keySet) discover(ctx context.Context) (string, error) {
	address := strings.TrimSuffix(s.issuer.URL, "/") + discoveryPath
	text, err := s.get(ctx, address)
	if err != nil {
		return "", err
	}
	var doc struct {
		Issuer  string `json:"issuer"`
		KeysURL string `json:"jwks_uri"`
	}
	if err := json.Unmarshal(text, &doc); err != nil {
		return "", fmt.Errorf("%s: %w", address, err)
	}
	if doc.Issuer != s.issuer.URL {
		return "", fmt.Errorf("%s: the issuer is %q", address, doc.Issuer)
	}
	if err := checkAddress(doc.KeysURL); err != nil {
		return "", fmt.Errorf("%s: jwks_uri: %w", address, err)
	}
	return doc.KeysURL, nil
}

func (s *keySet) get(ctx context.Context, address string) ([]byte, error) {
	client := s.client
	if client == nil {
		client = &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	}
	return httpcall.Get(ctx, client, address, maxDocument)
}

// parseKeySet returns the public signature keys of a set. Other keys are skipped: a set may
// contain keys for other purposes.
func parseKeySet(text []byte) ([]jose.JSONWebKey, error) {
	var set struct {
		Keys []json.RawMessage `json:"keys"`
	}
	if err := json.Unmarshal(text, &set); err != nil {
		return nil, fmt.Errorf("key set: %w", err)
	}
	var keys []jose.JSONWebKey
	shorts := 0
	for _, raw := range set.Keys {
		var k jose.JSONWebKey
		switch {
		case json.Unmarshal(raw, &k) != nil || !k.IsPublic() || !k.Valid() || k.Use != "" && k.Use != "sig" || len(keys) >= maxKeys:
		case short(&k):
			shorts++
		default:
			keys = append(keys, k)
		}
	}
	switch {
	case len(keys) == 0 && shorts > 0:
		return nil, fmt.Errorf("key set has only RSA keys below %d bits", minRSA)
	case len(keys) == 0:
		return nil, errors.New("the key set has no public key for signatures")
	}
	return keys, nil
}

// minRSA is the minimum size of an RSA key in bits (RFC 7518 §3.3).
const minRSA = 2048

// short reports whether k is an RSA key that is too short to be trusted.
func short(k *jose.JSONWebKey) bool {
	public, ok := k.Key.(*rsa.PublicKey)
	return ok && public.N.BitLen() < minRSA
}
