package token

import (
	"context"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/go-jose/go-jose/v4"
	"github.com/google/go-cmp/cmp"

	"github.com/parley-a2a/parley/auth"
	"github.com/parley-a2a/parley/internal/apierror"
	"github.com/parley-a2a/parley/internal/testing/tokentest"
)

const (
	issuerURL = "https://id.example"
	audience  = "https://hub.example"
)

// provider is an issuer of tokens, and an http.RoundTripper that serves its documents.
type provider struct {
	mu    sync.Mutex // guards the fields below
	kid   string
	key   *ecdsa.PrivateKey
	set   jose.JSONWebKeySet
	down  error
	asked atomic.Int32
}

func newProvider(t *testing.T) *provider {
	t.Helper()
	p := &provider{}
	p.rotate(t, "k1")
	return p
}

// rotate signs with a new key from now on; the key set has both the new and the last key.
func (p *provider) rotate(t *testing.T, kid string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.kid, p.key = kid, key
	p.set.Keys = append(p.set.Keys, jose.JSONWebKey{Key: key.Public(), KeyID: kid, Algorithm: "ES256", Use: "sig"})
	if n := len(p.set.Keys); n > 2 {
		p.set.Keys = p.set.Keys[n-2:]
	}
}

func (p *provider) fail(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.down = err
}

// RoundTrip implements http.RoundTripper.
func (p *provider) RoundTrip(r *http.Request) (*http.Response, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.down != nil {
		return nil, p.down
	}
	var doc any
	switch r.URL.String() {
	case issuerURL + discoveryPath:
		doc = map[string]string{"issuer": issuerURL, "jwks_uri": issuerURL + "/keys"}
	case issuerURL + "/keys":
		p.asked.Add(1)
		doc = p.set
	default:
		return nil, fmt.Errorf("nothing at %s", r.URL)
	}
	text, err := json.Marshal(doc)
	if err != nil {
		return nil, err
	}
	return &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(strings.NewReader(string(text))), Header: http.Header{}}, nil
}

func (p *provider) verifier(change func(*Issuer)) *Verifier {
	i := &Issuer{Name: "corp", URL: issuerURL, Audiences: []string{audience}}
	if change != nil {
		change(i)
	}
	return &Verifier{Issuers: []*Issuer{i}, Client: &http.Client{Transport: p}}
}

type object = map[string]any

// good returns the claims of a valid token, with changes; nil removes a claim.
func good(changes object) object {
	c := object{"iss": issuerURL, "aud": audience, "sub": "ada", "exp": time.Now().Add(time.Minute).Unix()}
	for k, v := range changes {
		if c[k] = v; v == nil {
			delete(c, k)
		}
	}
	return c
}

// token signs claims with the current key.
func (p *provider) token(t *testing.T, claims object) string {
	t.Helper()
	p.mu.Lock()
	key := jose.JSONWebKey{Key: p.key, KeyID: p.kid}
	p.mu.Unlock()
	return sign(t, jose.ES256, key, claims, "JWT")
}

func sign(t *testing.T, alg jose.SignatureAlgorithm, key any, claims object, typ jose.ContentType) string {
	t.Helper()
	return tokentest.Sign(t, alg, key, claims, typ)
}

// A claim with several organisations gives the caller all of the configured ones, in the order
// of the token.
func TestOwnersOfAToken(t *testing.T) {
	t.Parallel()
	p := newProvider(t)
	v := p.verifier(func(i *Issuer) {
		i.OrgClaim, i.Orgs = "tid", map[string]string{"t-1": "acme", "t-2": "beta", "t-3": "acme"}
	})
	for _, tt := range []struct {
		claim any
		org   string
		orgs  []string
	}{
		{[]any{"t-2", "t-9", "t-1", "t-3", 7}, "beta", []string{"beta", "acme"}},
		{[]any{"t-1"}, "acme", nil},
		{"t-2", "beta", nil},
		{"t-1 t-2", "", nil},
		{[]any{}, "", nil},
		{map[string]any{"t-1": true}, "", nil},
		{nil, "", nil},
	} {
		got, err := v.Token(t.Context(), p.token(t, good(object{"tid": tt.claim})))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(tt.orgs, got.Orgs); got.Org != tt.org || diff != "" {
			t.Errorf("claim %v: owner %q, want %q; owners (-want +got):\n%s", tt.claim, got.Org, tt.org, diff)
		}
	}
}

func TestToken(t *testing.T) {
	t.Parallel()
	p := newProvider(t)
	v := p.verifier(func(i *Issuer) {
		i.OrgClaim, i.Orgs = "tid", map[string]string{"t-1": "acme"}
		i.RolesClaim, i.Roles = "groups", map[string]string{"ops": "admin"}
		i.Scopes = map[string]string{"agents.call": "caller"}
		i.RequiredScopes = []string{"a2a"}
	})
	got, err := v.Token(t.Context(), p.token(t, good(object{
		"aud": []string{"else", audience}, "name": "Ada", "scope": "a2a agents.call", "tid": "t-1",
		"groups": []any{"ops", "admin", 3}, "client_id": "cli", "nbf": time.Now().Unix(), "iat": time.Now().Unix(),
	})))
	if err != nil {
		t.Fatal(err)
	}
	want := &auth.Principal{
		ID: "corp:ada", DisplayName: "Ada", Org: "acme", Roles: []string{"admin", "caller"}, Until: got.Until,
		Claims: map[string]string{
			"iss": issuerURL, "sub": "ada", "name": "Ada", "client_id": "cli", "scope": "a2a agents.call",
		},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("principal (-want +got):\n%s", diff)
	}
	if left := time.Until(got.Until); left <= defaultSkew || left > time.Minute+defaultSkew {
		t.Errorf("the principal ends in %v, want the end of the token and the skew", left)
	}
	plain, err := v.Token(t.Context(), p.token(t, good(object{"scp": []string{"a2a"}, "tid": "t-2", "groups": "admin"})))
	if err != nil {
		t.Fatal(err)
	}
	if plain.Org != "" || len(plain.Roles) > 0 {
		t.Errorf("claims that were not named count: org %q, roles %q", plain.Org, plain.Roles)
	}
}

// TestTokenRefuses tries tokens that must be refused.
func TestTokenRefuses(t *testing.T) {
	t.Parallel()
	p := newProvider(t)
	v := p.verifier(func(i *Issuer) { i.RequiredScopes = []string{"a2a"} })
	issuer := &tokentest.Issuer{URL: issuerURL, Audience: audience, KID: p.kid, Key: p.key}
	if _, err := v.Token(t.Context(), issuer.Token(t, issuer.Good(nil))); err != nil {
		t.Fatalf("the good one: %v", err)
	}
	for _, tc := range tokentest.Bad(t, issuer) {
		got, err := v.Token(t.Context(), tc.Token)
		if scope, ok := errors.AsType[*auth.ScopeError](err); ok && tc.Why == "scope" {
			if scope.Scope != "a2a" || errors.Is(err, auth.ErrUnauthenticated) || !errors.Is(err, a2a.ErrUnauthorized) {
				t.Errorf("%s: %+v, %v, want a refusal with the scope", tc.Name, got, err)
			}
			continue
		}
		if !errors.Is(err, ErrToken) || !errors.Is(err, auth.ErrUnauthenticated) || !strings.Contains(err.Error(), tc.Why) {
			t.Errorf("%s: %+v, %v, want %q", tc.Name, got, err, tc.Why)
		}
	}
}

// A token of a new key is accepted at once, for any number of callers, and the issuer is asked
// at most once a second.
func TestRotation(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newProvider(t)
		v := p.verifier(nil)
		var wg sync.WaitGroup
		for round := range 20 {
			p.rotate(t, fmt.Sprint("r", round))
			for range 10 {
				wg.Go(func() {
					if _, err := v.Token(t.Context(), p.token(t, good(nil))); err != nil {
						t.Errorf("round %d: %v", round, err)
					}
				})
			}
			// Another caller invents key ids.
			wg.Go(func() {
				key := jose.JSONWebKey{Key: newProvider(t).key, KeyID: rand.Text()}
				if _, err := v.Token(t.Context(), sign(t, jose.ES256, key, good(nil), "JWT")); !errors.Is(err, ErrToken) {
					t.Errorf("an invented key: %v", err)
				}
			})
			wg.Wait()
		}
		if n := p.asked.Load(); n > 41 {
			t.Errorf("the issuer was asked %d times", n)
		}
	})
}

// While the issuer is down, tokens of known keys remain valid for a day; callers with other
// tokens are asked to retry.
func TestIssuerIsDown(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newProvider(t)
		v := p.verifier(nil)
		p.fail(errors.New("no route"))
		_, err := v.Token(t.Context(), p.token(t, good(nil)))
		if !errors.Is(err, apierror.ErrUnavailable) || errors.Is(err, auth.ErrUnauthenticated) {
			t.Errorf("before any key is known: %v, want unavailable", err)
		}
		p.fail(nil)
		if _, err := v.Token(t.Context(), p.token(t, good(nil))); err != nil {
			t.Fatal(err)
		}
		p.fail(errors.New("no route"))
		known := p.token(t, good(nil))
		p.rotate(t, "new")
		if _, err := v.Token(t.Context(), p.token(t, good(nil))); !errors.Is(err, apierror.ErrUnavailable) || errors.Is(err, auth.ErrUnauthenticated) {
			t.Errorf("with a key that is not known yet: %v, want unavailable", err)
		}
		if _, err := v.Token(t.Context(), known); err != nil {
			t.Errorf("with a known key: %v", err)
		}
		p.fail(nil)
		if _, err := v.Token(t.Context(), p.token(t, good(nil))); err != nil {
			t.Errorf("with the new key: %v", err)
		}
		p.fail(errors.New("no route"))
		time.Sleep(stale - time.Hour)
		synctest.Wait()
		if _, err := v.Token(t.Context(), p.token(t, good(nil))); err != nil {
			t.Errorf("after 23 hours: %v", err)
		}
		time.Sleep(2 * time.Hour)
		synctest.Wait()
		if _, err := v.Token(t.Context(), p.token(t, good(nil))); !errors.Is(err, apierror.ErrUnavailable) {
			t.Errorf("after 25 hours: %v, want unavailable", err)
		}
		p.fail(nil)
		time.Sleep(pause)
		synctest.Wait()
		if _, err := v.Token(t.Context(), p.token(t, good(nil))); err != nil {
			t.Errorf("when it is back: %v", err)
		}
	})
}

// The caller that reads the keys for all waiting callers may disconnect.
func TestCallerGoes(t *testing.T) {
	t.Parallel()
	p := newProvider(t)
	v := p.verifier(nil)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := v.Token(ctx, p.token(t, good(nil))); err != nil && !errors.Is(err, context.Canceled) {
		t.Errorf("a caller that is gone: %v", err)
	}
	if _, err := v.Token(t.Context(), p.token(t, good(nil))); err != nil {
		t.Errorf("the next one: %v", err)
	}
}

// TestAlgorithms verifies each default algorithm, and a key without an id.
func TestAlgorithms(t *testing.T) {
	t.Parallel()
	rs, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	pub, ed, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		alg     jose.SignatureAlgorithm
		private any
		public  any
	}{{jose.RS256, rs, rs.Public()}, {jose.PS256, rs, rs.Public()}, {jose.EdDSA, ed, pub}} {
		set, err := json.Marshal(jose.JSONWebKeySet{Keys: []jose.JSONWebKey{{Key: tc.public}}})
		if err != nil {
			t.Fatal(err)
		}
		i := &Issuer{Name: "own", URL: issuerURL, Audiences: []string{audience}, Keys: set}
		if err := i.Check(); err != nil {
			t.Fatal(err)
		}
		v := &Verifier{Issuers: []*Issuer{i}}
		if _, err := v.Token(t.Context(), sign(t, tc.alg, tc.private, good(nil), "")); err != nil {
			t.Errorf("%s: %v", tc.alg, err)
		}
		i.Algorithms = []string{"ES256"}
		if _, err := v.Token(t.Context(), sign(t, tc.alg, tc.private, good(nil), "")); !errors.Is(err, ErrToken) {
			t.Errorf("%s, which is not allowed: %v", tc.alg, err)
		}
	}
}

func TestCheck(t *testing.T) {
	t.Parallel()
	valid := Issuer{Name: "a", URL: issuerURL, Audiences: []string{"x"}}
	for want, change := range map[string]func(*Issuer){
		"name":       func(i *Issuer) { i.Name = "" },
		"audiences":  func(i *Issuer) { i.Audiences = nil },
		"orgs":       func(i *Issuer) { i.OrgClaim = "tid" },
		"roles":      func(i *Issuer) { i.RolesClaim = "groups" },
		"org":        func(i *Issuer) { i.Org, i.OrgClaim, i.Orgs = "a", "b", map[string]string{"c": "d"} },
		"algorithms": func(i *Issuer) { i.Algorithms = []string{"HS256"} },
		"issuer":     func(i *Issuer) { i.URL = "http://id.example" },
		"keys_url":   func(i *Issuer) { i.KeysURL = "file:///etc/passwd" },
		"keys":       func(i *Issuer) { i.Keys = []byte(`{"keys":[{"kty":"oct","k":"AAAA"}]}`) },
	} {
		i := valid
		change(&i)
		if err := i.Check(); err == nil || !strings.HasPrefix(err.Error(), want+":") {
			t.Errorf("Check = %v, want something about %s", err, want)
		}
	}
	if err := valid.Check(); err != nil {
		t.Errorf("Check = %v", err)
	}
}

// TestShortKeys has key sets with an RSA key below 2,048 bits (RFC 7518 §3.3).
func TestShortKeys(t *testing.T) {
	t.Parallel()
	set := jose.JSONWebKeySet{}
	var keys []*rsa.PrivateKey
	for _, bits := range []int{1024, 2048} {
		k, err := rsa.GenerateKey(rand.Reader, bits)
		if err != nil {
			t.Fatal(err)
		}
		keys = append(keys, k)
		set.Keys = append(set.Keys, jose.JSONWebKey{Key: k.Public(), KeyID: fmt.Sprint("rsa-", bits)})
		i := &Issuer{Name: "corp", URL: issuerURL, Audiences: []string{audience}}
		if i.Keys, err = json.Marshal(set); err != nil {
			t.Fatal(err)
		}
		if err := i.Check(); (err == nil) != (bits >= 2048) || err != nil && !strings.Contains(err.Error(), "only RSA keys below 2048 bits") {
			t.Errorf("Check of a set up to %d bits: %v", bits, err)
		}
		if err := i.Check(); err != nil {
			continue
		}
		v := &Verifier{Issuers: []*Issuer{i}}
		for _, k := range keys {
			bits := k.N.BitLen()
			text := sign(t, jose.RS256, jose.JSONWebKey{Key: k, KeyID: fmt.Sprint("rsa-", bits)}, good(nil), "JWT")
			if _, err := v.Token(t.Context(), text); (err == nil) != (bits >= 2048) {
				t.Errorf("a token of a key of %d bits: %v", bits, err)
			}
		}
	}
}

func FuzzToken(f *testing.F) {
	set := `{"keys":[{"kty":"OKP","crv":"Ed25519","x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}]}`
	v := &Verifier{Issuers: []*Issuer{{Name: "a", URL: issuerURL, Audiences: []string{"x"}, Keys: []byte(set)}}}
	f.Add("eyJhbGciOiJFZERTQSJ9.eyJpc3MiOiJodHRwczovL2lkLmV4YW1wbGUifQ.AAAA")
	f.Fuzz(func(t *testing.T, text string) {
		if p, err := v.Token(t.Context(), text); !errors.Is(err, auth.ErrUnauthenticated) {
			t.Errorf("Token(%q) = %+v, %v", text, p, err)
		}
	})
}
