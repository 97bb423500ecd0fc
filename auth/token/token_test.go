package token

import (
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/hmac"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"
	"github.com/google/go-cmp/cmp"

	"github.com/parley-a2a/parley/auth"
	"github.com/parley-a2a/parley/internal/fault"
)

const (
	issuerURL = "https://id.example"
	audience  = "https://hub.example"
)

// provider is an issuer of tokens, and an http.RoundTripper by which it is reached.
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

// rotate signs with a new key from now on, which stands in the key set beside the last.
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

// good returns the claims of a good token, with changes; a nil takes a claim away.
func good(changes object) object {
	c := object{"iss": issuerURL, "aud": audience, "sub": "ada", "exp": time.Now().Add(time.Minute).Unix()}
	for k, v := range changes {
		if c[k] = v; v == nil {
			delete(c, k)
		}
	}
	return c
}

// token signs claims with the present key.
func (p *provider) token(t *testing.T, claims object) string {
	t.Helper()
	p.mu.Lock()
	key := jose.JSONWebKey{Key: p.key, KeyID: p.kid}
	p.mu.Unlock()
	return sign(t, jose.ES256, key, claims, "JWT")
}

func sign(t *testing.T, alg jose.SignatureAlgorithm, key any, claims object, typ jose.ContentType) string {
	t.Helper()
	o := &jose.SignerOptions{}
	if typ != "" {
		o = o.WithType(typ)
	}
	s, err := jose.NewSigner(jose.SigningKey{Algorithm: alg, Key: key}, o)
	if err != nil {
		t.Fatal(err)
	}
	text, err := jwt.Signed(s).Claims(claims).Serialize()
	if err != nil {
		t.Fatal(err)
	}
	return text
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
		ID: "corp:ada", DisplayName: "Ada", Org: "acme", Roles: []string{"admin", "caller"},
		Claims: map[string]string{
			"iss": issuerURL, "sub": "ada", "name": "Ada", "client_id": "cli", "scope": "a2a agents.call",
		},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("principal (-want +got):\n%s", diff)
	}
	plain, err := v.Token(t.Context(), p.token(t, good(object{"scp": []string{"a2a"}, "tid": "t-2", "groups": "admin"})))
	if err != nil {
		t.Fatal(err)
	}
	if plain.Org != "" || len(plain.Roles) > 0 {
		t.Errorf("claims that were not named count: org %q, roles %q", plain.Org, plain.Roles)
	}
}

// TestTokenRefuses has what somebody does who has no good token.
func TestTokenRefuses(t *testing.T) {
	t.Parallel()
	p := newProvider(t)
	v := p.verifier(func(i *Issuer) { i.RequiredScopes = []string{"a2a"} })
	ok := good(object{"scope": "a2a"})
	text := p.token(t, ok)
	if _, err := v.Token(t.Context(), text); err != nil {
		t.Fatalf("the good one: %v", err)
	}
	parts := strings.Split(text, ".")
	other := newProvider(t)
	_, ed, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	with := func(changes object) string {
		c := maps.Clone(ok)
		maps.Copy(c, changes)
		maps.DeleteFunc(c, func(_ string, v any) bool { return v == nil })
		return p.token(t, c)
	}
	head := func(h string) string {
		return base64.RawURLEncoding.EncodeToString([]byte(h)) + "." + parts[1] + "." + parts[2]
	}
	ago, later := time.Now().Add(-2*time.Minute).Unix(), time.Now().Add(2*time.Minute).Unix()
	own := jose.JSONWebKey{Key: p.key, KeyID: "k1"}
	for name, tc := range map[string]struct{ token, want string }{
		"expired":                 {with(object{"exp": ago}), "expired"},
		"no end":                  {with(object{"exp": nil}), "no end"},
		"end is a text":           {with(object{"exp": "soon"}), "cannot be read"},
		"not yet":                 {with(object{"nbf": later}), "not good yet"},
		"from the future":         {with(object{"iat": later}), "in the future"},
		"another audience":        {with(object{"aud": "https://other.example"}), "another audience"},
		"audience with a slash":   {with(object{"aud": audience + "/"}), "another audience"},
		"no audience":             {with(object{"aud": nil}), "another audience"},
		"another issuer":          {with(object{"iss": "https://evil.example"}), "another issuer"},
		"issuer with a slash":     {with(object{"iss": issuerURL + "/"}), "another issuer"},
		"no issuer":               {with(object{"iss": nil}), "another issuer"},
		"no subject":              {with(object{"sub": nil}), "subject"},
		"subject of two lines":    {with(object{"sub": "ada\nadmin"}), "subject"},
		"endless subject":         {with(object{"sub": strings.Repeat("a", maxSubject+1)}), "subject"},
		"no scope":                {with(object{"scope": nil}), "scope"},
		"scope in another case":   {with(object{"scope": "A2A"}), "scope"},
		"signed by another":       {other.token(t, ok), "not of a key"},
		"unknown key":             {sign(t, jose.ES256, jose.JSONWebKey{Key: other.key, KeyID: "k9"}, ok, "JWT"), "not of a key"},
		"another algorithm":       {sign(t, jose.EdDSA, jose.JSONWebKey{Key: ed, KeyID: "k1"}, ok, "JWT"), "not of a key"},
		"a logout token":          {sign(t, jose.ES256, own, ok, "logout+jwt"), "type"},
		"none":                    {base64.RawURLEncoding.EncodeToString([]byte(`{"alg":"none"}`)) + "." + parts[1] + ".", "algorithm"},
		"None":                    {head(`{"alg":"None","kid":"k1"}`), "algorithm"},
		"HMAC with a public key":  {hmacWithPublicKey(t, p.key.Public(), parts[1]), "algorithm"},
		"payload changed":         {parts[0] + "." + changed(parts[1]) + "." + parts[2], ""},
		"signature changed":       {parts[0] + "." + parts[1] + "." + changed(parts[2]), "not of a key"},
		"signature of zeros":      {parts[0] + "." + parts[1] + "." + strings.Repeat("A", 86), "not of a key"},
		"kid is a path":           {head(`{"alg":"ES256","kid":"../../k1"}`), "not of a key"},
		"kid is an order":         {head(`{"alg":"ES256","kid":"' OR 1=1"}`), "not of a key"},
		"kid is a number":         {head(`{"alg":"ES256","kid":1}`), "algorithm"},
		"its own key":             {withOwnKey(t, other, ok), "not of a key"},
		"keys elsewhere":          {head(`{"alg":"ES256","kid":"x","jku":"https://evil.example/keys"}`), "not of a key"},
		"crit":                    {head(`{"alg":"ES256","kid":"k1","crit":["x"],"x":1}`), "not of a key"},
		"alg twice":               {head(`{"alg":"ES256","alg":"none","kid":"k1"}`), "algorithm"},
		"header is no JSON":       {head(`x`), "algorithm"},
		"two parts":               {parts[0] + "." + parts[1], "algorithm"},
		"four parts":              {text + ".AAAA", "algorithm"},
		"encrypted, so five":      {strings.Repeat("AAAA.", 4) + "AAAA", "algorithm"},
		"nothing":                 {"", "algorithm"},
		"dots":                    {"..", "algorithm"},
		"too long":                {strings.Repeat("a", MaxToken+1), "more than"},
		"padded base64":           {parts[0] + "." + parts[1] + "==." + parts[2], "algorithm"},
		"spaces in it":            {parts[0] + " ." + parts[1] + "." + parts[2], "algorithm"},
		"not base64":              {"!." + parts[1] + "." + parts[2], "algorithm"},
		"an end beyond all years": {with(object{"exp": -1e300}), ""},
	} {
		got, err := v.Token(t.Context(), tc.token)
		if !errors.Is(err, ErrToken) || !errors.Is(err, auth.ErrUnauthenticated) || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %+v, %v, want %q", name, got, err, tc.want)
		}
	}
}

// changed returns a base64url text with another character in its middle.
func changed(s string) string {
	b := []byte(s)
	if i := len(b) / 2; b[i] == 'A' {
		b[i] = 'B'
	} else {
		b[i] = 'A'
	}
	return string(b)
}

// hmacWithPublicKey signs with the public key as if it were a secret.
func hmacWithPublicKey(t *testing.T, key crypto.PublicKey, payload string) string {
	t.Helper()
	der, err := x509.MarshalPKIXPublicKey(key)
	if err != nil {
		t.Fatal(err)
	}
	input := base64.RawURLEncoding.EncodeToString([]byte(`{"alg":"HS256","kid":"k1"}`)) + "." + payload
	mac := hmac.New(sha256.New, pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der}))
	mac.Write([]byte(input))
	return input + "." + base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}

// withOwnKey carries the key that it is to be verified with (jwk).
func withOwnKey(t *testing.T, p *provider, claims object) string {
	t.Helper()
	s, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.ES256, Key: p.key}, &jose.SignerOptions{EmbedJWK: true})
	if err != nil {
		t.Fatal(err)
	}
	text, err := jwt.Signed(s).Claims(claims).Serialize()
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// TestRotation: a token of a new key is taken at once, however many come, and the issuer
// is asked once a second at the most.
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
			// Somebody else invents keys.
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

// TestIssuerIsDown: tokens of known keys stay good for a day, others are told to come
// back.
func TestIssuerIsDown(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newProvider(t)
		v := p.verifier(nil)
		p.fail(errors.New("no route"))
		_, err := v.Token(t.Context(), p.token(t, good(nil)))
		if !errors.Is(err, fault.ErrUnavailable) || errors.Is(err, auth.ErrUnauthenticated) {
			t.Errorf("before any key is known: %v, want unavailable", err)
		}
		p.fail(nil)
		if _, err := v.Token(t.Context(), p.token(t, good(nil))); err != nil {
			t.Fatal(err)
		}
		p.fail(errors.New("no route"))
		time.Sleep(stale - time.Hour)
		if _, err := v.Token(t.Context(), p.token(t, good(nil))); err != nil {
			t.Errorf("after 23 hours: %v", err)
		}
		time.Sleep(2 * time.Hour)
		if _, err := v.Token(t.Context(), p.token(t, good(nil))); !errors.Is(err, fault.ErrUnavailable) {
			t.Errorf("after 25 hours: %v, want unavailable", err)
		}
		p.fail(nil)
		time.Sleep(pause)
		if _, err := v.Token(t.Context(), p.token(t, good(nil))); err != nil {
			t.Errorf("when it is back: %v", err)
		}
	})
}

// TestCallerGoes: whoever reads the keys for all may go away.
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

// TestAlgorithms verifies each algorithm that is usual, and a key without an id.
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
