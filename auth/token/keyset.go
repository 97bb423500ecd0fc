package token

import (
	"context"
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
	// fresh is how long keys are used without being read again.
	fresh = 10 * time.Minute
	// stale is how long they are used while the issuer does not answer.
	stale = 24 * time.Hour
	// pause is how long the keys are not read again after they were.
	pause = time.Second
	// fetchTimeout is how long an issuer may take to tell its keys.
	fetchTimeout = 10 * time.Second
	// maxDocument is how large a key set or a discovery document may be, in bytes.
	maxDocument = 1 << 20
	// maxKeys is how many keys of an issuer are kept.
	maxKeys = 100
	// maxWaiting is how many tokens wait for the keys of an issuer at one time.
	maxWaiting = 256
)

// errNoKeys is returned while the keys of an issuer are not known at all.
var errNoKeys = &apierror.Error{
	Err: apierror.ErrUnavailable, Message: "the keys of the token's issuer cannot be read now", RetryAfter: 5 * time.Second,
}

// keySet is the keys of an issuer as they were last read.
type keySet struct {
	issuer *Issuer
	client *http.Client
	logger *slog.Logger
	fixed  []jose.JSONWebKey // if the issuer's keys are not fetched

	// reading is a lock that a context can end the wait for.
	reading chan struct{}
	waiting chan struct{}

	mu   sync.Mutex // guards the fields below
	keys []jose.JSONWebKey
	read time.Time // when keys was read
	// tried is when they were last asked for, and failed what came of it.
	tried  time.Time
	failed error
}

func newKeySet(i *Issuer, client *http.Client, logger *slog.Logger) *keySet {
	s := &keySet{
		issuer: i, client: client, logger: logger,
		reading: make(chan struct{}, 1), waiting: make(chan struct{}, maxWaiting),
	}
	if i.Keys != nil {
		s.fixed, _ = parseKeySet(i.Keys) // Issuer.Check has read it
	}
	if s.logger == nil {
		s.logger = slog.New(slog.DiscardHandler)
	}
	return s
}

// find returns the keys that may have signed a token whose header names kid.
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
	return named(keys, kid), nil
}

// known returns the keys and how long ago they were read.
func (s *keySet) known() ([]jose.JSONWebKey, time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.keys, time.Since(s.read)
}

// named returns the keys with an id; all of them if there is no id and one key.
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

// refresh reads the keys again, unless that was done after asked. One caller reads for
// all who wait, once in a pause. What comes of it is in s; the error is that ctx has
// ended, or that too many wait.
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
	// Whoever waits must not go without because the one who reads for all has gone.
	reading, cancel := context.WithTimeout(context.WithoutCancel(ctx), fetchTimeout)
	defer cancel()
	keys, err := s.fetch(reading)
	s.note(keys, err)
	return nil
}

// note keeps what came of reading the keys, and logs when that changes.
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
		s.logger.Warn("keys of an issuer of tokens cannot be read", "issuer", s.issuer.Name, "error", err)
	case err == nil && before != nil:
		s.logger.Info("keys of an issuer of tokens are read again", "issuer", s.issuer.Name)
	}
}

// fetch reads the keys from where the issuer has them.
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

// discoveryPath is where the metadata of an issuer is, below its address.
const discoveryPath = "/.well-known/openid-configuration"

// discover returns the address of the key set that the issuer's metadata names (OpenID
// Connect Discovery 1.0 §4, RFC 8414 §3).
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
		return "", fmt.Errorf("%s: is of the issuer %q", address, doc.Issuer)
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

// parseKeySet returns the public keys of a set that signatures can be verified with.
// Others are left out: a set may have keys for other purposes.
func parseKeySet(text []byte) ([]jose.JSONWebKey, error) {
	var set struct {
		Keys []json.RawMessage `json:"keys"`
	}
	if err := json.Unmarshal(text, &set); err != nil {
		return nil, fmt.Errorf("key set: %w", err)
	}
	var keys []jose.JSONWebKey
	for _, raw := range set.Keys {
		var k jose.JSONWebKey
		if json.Unmarshal(raw, &k) == nil && k.IsPublic() && k.Valid() && (k.Use == "" || k.Use == "sig") && len(keys) < maxKeys {
			keys = append(keys, k)
		}
	}
	if len(keys) == 0 {
		return nil, errors.New("key set has no public key for signatures")
	}
	return keys, nil
}
