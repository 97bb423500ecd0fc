package auth_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/google/go-cmp/cmp"

	"github.com/parley-a2a/parley/auth"
)

// keyStore keeps keys in memory, or returns an error.
type keyStore struct {
	mu   sync.Mutex
	keys []auth.Key
	err  error
}

func (s *keyStore) Keys(context.Context) ([]auth.Key, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.keys), s.err
}

func (s *keyStore) PutKey(_ context.Context, k *auth.Key) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err != nil {
		return s.err
	}
	for i := range s.keys {
		if s.keys[i].ID == k.ID {
			s.keys[i] = *k
			return nil
		}
	}
	s.keys = append(s.keys, *k)
	return nil
}

// load returns a keyring with an empty store.
func load(t testing.TB) (*auth.Keyring, *keyStore) {
	t.Helper()
	s := new(keyStore)
	r := &auth.Keyring{Store: s}
	if err := r.Load(t.Context()); err != nil {
		t.Fatal(err)
	}
	return r, s
}

// add adds a new key and returns its text.
func add(t testing.TB, r *auth.Keyring, p auth.Principal) (*auth.Key, string) {
	t.Helper()
	k, text := auth.NewKey(p, time.Now())
	if err := r.Add(t.Context(), k); err != nil {
		t.Fatal(err)
	}
	return k, text
}

const (
	here  = "127.0.0.1:5000"
	there = "192.0.2.1:5000"
)

// ask authenticates a request with headers like "X-Api-Key: k".
func ask(ctx context.Context, r auth.Authenticator, from string, headers ...string) (*auth.Principal, error) {
	h := make(http.Header)
	for _, line := range headers {
		name, value, _ := strings.Cut(line, ":")
		h.Add(name, value)
	}
	return r.Authenticate(ctx, &auth.Request{Header: h.Values, RemoteAddr: from})
}

func refused(t testing.TB, what string, p *auth.Principal, err error) {
	t.Helper()
	const words = "Authentication required: provide X-Api-Key header or a bearer token"
	if p != nil || !errors.Is(err, auth.ErrUnauthenticated) || err.Error() != words {
		t.Errorf("%s: %v, %v, want a refusal", what, p, err)
	}
}

func TestCredentials(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) { // wrong keys are delayed
		r, _ := load(t)
		_, k := add(t, r, auth.Principal{ID: "ann"})
		_, other := add(t, r, auth.Principal{ID: "ann"})
		basic := base64.StdEncoding.EncodeToString([]byte("ann:" + k))
		for name, tt := range map[string]struct {
			headers []string
			ok      bool
		}{
			"key":                       {[]string{"X-Api-Key: " + k}, true},
			"key in lower case":         {[]string{"x-api-key:" + k}, true},
			"bearer":                    {[]string{"Authorization: Bearer " + k}, true},
			"bearer in lower case":      {[]string{"authorization: bearer " + k}, true},
			"bearer with spaces":        {[]string{"Authorization:  BEARER   " + k + "\t"}, true},
			"both":                      {[]string{"X-Api-Key: " + k, "Authorization: Bearer " + k}, true},
			"twice the same":            {[]string{"X-Api-Key: " + k, "X-Api-Key: " + k}, true},
			"none":                      {nil, false},
			"empty key":                 {[]string{"X-Api-Key: "}, false},
			"empty bearer":              {[]string{"Authorization: Bearer "}, false},
			"empty authorization":       {[]string{"Authorization:"}, false},
			"empty beside a good one":   {[]string{"X-Api-Key: " + k, "Authorization: Bearer"}, false},
			"wrong":                     {[]string{"X-Api-Key: " + k[:len(k)-1]}, false},
			"other case":                {[]string{"X-Api-Key: " + strings.ToUpper(k)}, false},
			"hash of it":                {[]string{"X-Api-Key: sha256:" + strings.Repeat("0", 64)}, false},
			"scheme in the key":         {[]string{"X-Api-Key: Bearer " + k}, false},
			"no scheme":                 {[]string{"Authorization: " + k}, false},
			"basic":                     {[]string{"Authorization: Basic " + basic}, false},
			"basic beside a good one":   {[]string{"Authorization: Basic " + basic, "X-Api-Key: " + k}, false},
			"digest":                    {[]string{"Authorization: Digest " + k}, false},
			"bearer with more text":     {[]string{"Authorization: Bearer " + k + " x"}, false},
			"two good ones":             {[]string{"X-Api-Key: " + k, "X-Api-Key: " + other}, false},
			"two good ones in each":     {[]string{"X-Api-Key: " + k, "Authorization: Bearer " + other}, false},
			"joined":                    {[]string{"X-Api-Key: " + k + ", " + k}, false},
			"1 KiB":                     {[]string{"X-Api-Key: " + strings.Repeat("k", 1024)}, false},
			"over 1 KiB":                {[]string{"X-Api-Key: " + strings.Repeat("k", 1025)}, false},
			"16 MiB":                    {[]string{"Authorization: Bearer " + strings.Repeat("k", 16<<20)}, false},
			"long one beside good ones": {[]string{"X-Api-Key: " + k, "X-Api-Key: " + strings.Repeat("k", 2000)}, false},
		} {
			p, err := ask(t.Context(), r, there, tt.headers...)
			if tt.ok {
				if err != nil || p.ID != "ann" {
					t.Errorf("%s: %v, %v, want ann", name, p, err)
				}
				continue
			}
			refused(t, name, p, err)
		}
	})
}

func TestKeyringOff(t *testing.T) {
	t.Parallel()
	for name, r := range map[string]*auth.Keyring{"zero": {}, "loaded": func() *auth.Keyring { r, _ := load(t); return r }()} {
		if r.On() || len(r.List()) != 0 {
			t.Errorf("%s: is on, keys %v", name, r.List())
		}
		// A key sent to a keyring that is off causes no refusal.
		p, err := ask(t.Context(), r, here, "X-Api-Key: whatever")
		if err != nil || p.ID != auth.Local {
			t.Errorf("%s: caller on this machine: %v, %v", name, p, err)
		}
		p, err = ask(t.Context(), r, there)
		refused(t, name+": caller from elsewhere", p, err)
		if schemes, requirements := r.Security(); schemes != nil || requirements != nil {
			t.Errorf("%s: security %v %v, want none", name, schemes, requirements)
		}
	}
	open := &auth.Keyring{AllowAnonymous: true}
	if p, err := ask(t.Context(), open, there); err != nil || p.ID != auth.Local {
		t.Errorf("all callers admitted: %v, %v", p, err)
	}
}

func TestKeyringTurnsOnAndStaysOn(t *testing.T) {
	t.Parallel()
	r, s := load(t)
	if _, err := ask(t.Context(), r, here); err != nil {
		t.Fatalf("before the first key: %v", err)
	}
	k, text := add(t, r, auth.Principal{ID: "ann"})
	p, err := ask(t.Context(), r, here)
	refused(t, "without credentials", p, err)
	if p, err := ask(t.Context(), r, here, "X-Api-Key:"+text); err != nil || p.ID != "ann" {
		t.Errorf("with the key: %v, %v", p, err)
	}
	if got, err := r.Revoke(t.Context(), k.ID, 0); err != nil || got.RevokedAt.IsZero() {
		t.Fatalf("revoke = %v, %v", got, err)
	}
	again := &auth.Keyring{Store: s}
	if err := again.Load(t.Context()); err != nil {
		t.Fatal(err)
	}
	for name, r := range map[string]*auth.Keyring{"revoked": r, "started again": again} {
		if !r.On() {
			t.Errorf("%s: is off", name)
		}
		p, err = ask(t.Context(), r, here, "X-Api-Key:"+text)
		refused(t, name+", with the key", p, err)
		p, err = ask(t.Context(), r, here)
		refused(t, name+", without", p, err)
	}
	before := r.List()
	if used := before[0].LastUsedAt; time.Since(used) > time.Minute || !again.List()[0].LastUsedAt.IsZero() {
		t.Errorf("the key was used last at %v, want now, and unknown after a start", used)
	}
	before[0].LastUsedAt = time.Time{}
	if diff := cmp.Diff(before, again.List()); diff != "" {
		t.Errorf("keys mismatch after a start (-before +after):\n%s", diff)
	}
}

func TestAnonymousBesideKeys(t *testing.T) {
	t.Parallel()
	r, _ := load(t)
	r.AllowAnonymous = true
	_, text := add(t, r, auth.Principal{ID: "ann"})
	if p, err := ask(t.Context(), r, there); err != nil || p.ID != auth.Local {
		t.Errorf("without credentials: %v, %v", p, err)
	}
	if p, err := ask(t.Context(), r, there, "Authorization: Bearer "+text); err != nil || p.ID != "ann" {
		t.Errorf("with the key: %v, %v", p, err)
	}
	for _, wrong := range []string{"X-Api-Key: wrong", "X-Api-Key:", "Authorization: Basic eDp5"} {
		p, err := ask(t.Context(), r, there, wrong)
		refused(t, wrong, p, err)
	}
}

func TestConfiguredKeys(t *testing.T) {
	t.Parallel()
	k, err := auth.ConfiguredKey("an-operators-own-key", auth.Principal{ID: "ops", Org: "acme"})
	if err != nil {
		t.Fatal(err)
	}
	r := &auth.Keyring{Configured: []auth.Key{*k}}
	p, err := ask(t.Context(), r, there, "X-Api-Key: an-operators-own-key")
	if err != nil || p.ID != "ops" || p.Owner() != "org:acme" {
		t.Errorf("configured key: %v, %v", p, err)
	}
	if _, err := r.Revoke(t.Context(), k.ID, 0); !errors.Is(err, auth.ErrConfigured) {
		t.Errorf("revoke = %v, want %v", err, auth.ErrConfigured)
	}
	another, _ := auth.NewKey(auth.Principal{ID: "x"}, time.Now())
	if err := r.Add(t.Context(), another); err == nil || !strings.Contains(err.Error(), "no key store") {
		t.Errorf("add without a store = %v", err)
	}
	// A configured key is valid even if the store has it as revoked.
	stored := *k
	stored.ID, stored.Configured, stored.RevokedAt = "old", false, time.Now()
	r = &auth.Keyring{Configured: []auth.Key{*k}, Store: &keyStore{keys: []auth.Key{stored}}}
	if err := r.Load(t.Context()); err != nil {
		t.Fatal(err)
	}
	if p, err := ask(t.Context(), r, there, "X-Api-Key: an-operators-own-key"); err != nil || p.ID != "ops" {
		t.Errorf("configured again: %v, %v", p, err)
	}
	if got := r.List(); len(got) != 2 || got[0].ID != k.ID {
		t.Errorf("keys = %v, want the configured one first", got)
	}
}

func TestRotation(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r, _ := load(t)
		old, first := add(t, r, auth.Principal{ID: "ann"})
		_, second := add(t, r, auth.Principal{ID: "ann"})
		got, err := r.Revoke(t.Context(), old.ID, 24*time.Hour)
		if want := time.Now().Add(24 * time.Hour); err != nil || !got.ExpiresAt.Equal(want) || !got.RevokedAt.IsZero() {
			t.Fatalf("revoke after a day = %+v, %v", got, err)
		}
		time.Sleep(24*time.Hour - time.Millisecond)
		synctest.Wait()
		for _, text := range []string{first, second} {
			if p, err := ask(t.Context(), r, there, "X-Api-Key:"+text); err != nil || p.ID != "ann" {
				t.Errorf("before the end of the day: %v, %v", p, err)
			}
		}
		// Revoke never extends the life of a key.
		if got, err = r.Revoke(t.Context(), old.ID, time.Hour); err != nil || time.Until(got.ExpiresAt) != time.Millisecond {
			t.Errorf("revoke later = %+v, %v, want the earlier end", got, err)
		}
		time.Sleep(time.Millisecond)
		synctest.Wait()
		p, err := ask(t.Context(), r, there, "X-Api-Key:"+first)
		refused(t, "after the day", p, err)
		if _, err := ask(t.Context(), r, there, "X-Api-Key:"+second); err != nil {
			t.Errorf("the new key: %v", err)
		}
		if got, err = r.Revoke(t.Context(), old.ID, 0); err != nil || got.RevokedAt.IsZero() {
			t.Errorf("revoke an expired key = %+v, %v", got, err)
		}
		at := got.RevokedAt
		time.Sleep(time.Second)
		synctest.Wait()
		if got, err = r.Revoke(t.Context(), old.ID, time.Hour); err != nil || !got.RevokedAt.Equal(at) {
			t.Errorf("revoke again = %+v, %v, want it as it was", got, err)
		}
	})
}

// TestRequestsEndWithTheirKeys has a request whose key expires while nothing else happens.
func TestRequestsEndWithTheirKeys(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r, _ := load(t)
		k, text := add(t, r, auth.Principal{ID: "ann"})
		req := &auth.Request{Header: http.Header{auth.HeaderKey: {text}}.Values, RemoteAddr: there}
		p, err := r.Authenticate(t.Context(), req)
		if err != nil {
			t.Fatal(err)
		}
		ctx, stop := r.While(t.Context(), req, p)
		defer stop()
		began := time.Now()
		if _, err := r.Revoke(t.Context(), k.ID, time.Hour); err != nil {
			t.Fatal(err)
		}
		<-ctx.Done()
		if took := time.Since(began); took != time.Hour || !errors.Is(context.Cause(ctx), auth.ErrUnauthenticated) {
			t.Errorf("the request ended after %v: %v", took, context.Cause(ctx))
		}
	})
}

func TestKeyringChangesFail(t *testing.T) {
	t.Parallel()
	r, s := load(t)
	k, text := add(t, r, auth.Principal{ID: "ann"})
	if err := r.Add(t.Context(), k); err == nil || !strings.Contains(err.Error(), "already") {
		t.Errorf("add twice = %v", err)
	}
	if _, err := r.Revoke(t.Context(), "nobody", 0); !errors.Is(err, auth.ErrNoKey) {
		t.Errorf("revoke an unknown key = %v", err)
	}
	for name, k := range map[string]auth.Key{
		"no id":    {Hash: k.Hash, Principal: k.Principal},
		"wild id":  {ID: "a/b", Hash: k.Hash, Principal: k.Principal},
		"no hash":  {ID: "a", Principal: k.Principal},
		"nobody":   {ID: "a", Hash: [32]byte{1}},
		"local":    {ID: "a", Hash: [32]byte{1}, Principal: auth.Principal{ID: auth.Local}},
		"file key": {ID: "a", Hash: [32]byte{1}, Principal: k.Principal, Configured: true},
	} {
		if err := r.Add(t.Context(), &k); err == nil {
			t.Errorf("%s: was added", name)
		}
	}
	s.err = errors.New("disk full")
	another, _ := auth.NewKey(auth.Principal{ID: "bob"}, time.Now())
	if err := r.Add(t.Context(), another); !errors.Is(err, s.err) {
		t.Errorf("add = %v, want %v", err, s.err)
	}
	if _, err := r.Revoke(t.Context(), k.ID, 0); !errors.Is(err, s.err) {
		t.Errorf("revoke = %v, want %v", err, s.err)
	}
	// A change that could not be stored has no effect.
	if _, err := ask(t.Context(), r, there, "X-Api-Key:"+text); err != nil || len(r.List()) != 1 {
		t.Errorf("after failures: %v, keys %v", err, r.List())
	}
	closed := &auth.Keyring{Store: s}
	if err := closed.Load(t.Context()); !errors.Is(err, s.err) {
		t.Errorf("load = %v, want %v", err, s.err)
	}
	// A keyring that is not loaded admits no caller.
	if p, err := ask(t.Context(), closed, here); p != nil || err == nil || errors.Is(err, auth.ErrUnauthenticated) {
		t.Errorf("not loaded: %v, %v, want an internal error", p, err)
	}
	if !closed.On() || closed.List() != nil || closed.Add(t.Context(), another) == nil {
		t.Error("a keyring that is not loaded takes itself for an empty one")
	}
	if _, err := closed.Revoke(t.Context(), k.ID, 0); err == nil {
		t.Error("a keyring that is not loaded revokes")
	}
}

func TestSecurity(t *testing.T) {
	t.Parallel()
	r, _ := load(t)
	add(t, r, auth.Principal{ID: "ann"})
	schemes, requirements := r.Security()
	want := a2a.NamedSecuritySchemes{
		"apiKey": a2a.APIKeySecurityScheme{Location: "header", Name: "X-Api-Key", Description: "An API key of this hub."},
		"bearer": a2a.HTTPAuthSecurityScheme{Scheme: "Bearer", Description: "The same API key as a bearer token."},
	}
	if diff := cmp.Diff(want, schemes); diff != "" {
		t.Errorf("schemes mismatch (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(a2a.SecurityRequirementsOptions{{"apiKey": {}}, {"bearer": {}}}, requirements); diff != "" {
		t.Errorf("requirements mismatch (-want +got):\n%s", diff)
	}
	r = &auth.Keyring{AllowAnonymous: true, Configured: r.List()}
	if schemes, requirements := r.Security(); len(schemes) != 2 || requirements != nil {
		t.Errorf("anonymous callers allowed: %v %v, want schemes alone", schemes, requirements)
	}
}

func TestFailuresAreLogged(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		r, _ := load(t)
		r.Logger = slog.New(slog.NewTextHandler(&log, nil))
		k, text := add(t, r, auth.Principal{ID: "ann"})
		if _, err := r.Revoke(t.Context(), k.ID, 0); err != nil {
			t.Fatal(err)
		}
		for _, tt := range []struct{ header, want string }{
			{"X-Api-Key:" + text, `address=192.0.2.1:5000 reason="revoked key" key=pk_` + k.ID + `_…`},
			{"X-Api-Key: sk-something-else-0815", `reason="unknown key" key=sk-s…`},
			{"X-Api-Key: \x1b[2Jsomething-else", `reason="unknown key"` + "\n"},
			{"X-Api-Key: short", `reason="unknown key"` + "\n"},
			{"Authorization: Basic " + text, `reason="unknown authorization scheme"` + "\n"},
			{"X-Api-Key: " + strings.Repeat("k", 2000), `reason="credentials are too long"` + "\n"},
		} {
			log.Reset()
			p, err := ask(t.Context(), r, there, tt.header)
			refused(t, tt.header, p, err)
			if strings.Count(log.String(), "\n") != 1 || !strings.Contains(log.String(), tt.want) {
				t.Errorf("%q is logged as %q, want %q", tt.header, log.String(), tt.want)
			}
			if secret := strings.TrimPrefix(text, "pk_"+k.ID+"_"); strings.Contains(log.String(), secret) {
				t.Errorf("the log contains the key: %s", log.String())
			}
		}
		log.Reset()
		p, err := ask(t.Context(), r, there)
		refused(t, "without credentials", p, err)
		if log.Len() > 0 {
			t.Errorf("a caller who tried nothing is logged: %s", log.String())
		}
	})
}

// Requests during a change see the keys before or after it.
func TestKeyringConcurrently(t *testing.T) {
	t.Parallel()
	r, _ := load(t)
	_, text := add(t, r, auth.Principal{ID: "ann"})
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range 200 {
				if p, err := ask(t.Context(), r, there, "X-Api-Key:"+text); err != nil || p.ID != "ann" {
					t.Errorf("while keys change: %v, %v", p, err)
				}
			}
		})
		wg.Go(func() {
			for range 20 {
				k, _ := auth.NewKey(auth.Principal{ID: "bob"}, time.Now())
				if err := r.Add(t.Context(), k); err != nil {
					t.Error(err)
				}
				if _, err := r.Revoke(t.Context(), k.ID, 0); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if got := len(r.List()); got != 81 {
		t.Errorf("%d keys, want 81", got)
	}
}
