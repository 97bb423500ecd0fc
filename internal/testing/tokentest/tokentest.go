// Package tokentest creates invalid bearer tokens for the tests of verifiers, which must refuse
// them. [Issuer.Token] creates the valid token that they are derived from. [Bad] returns all
// invalid ones.
//
// # Guarantees
//
// Each token of [Bad] differs from a valid one of [Issuer.Token] only in the aspect that its
// name states.
//
// # Non-guarantees
//
// The list is not complete; new attacks are added to Bad.
package tokentest

import (
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"
)

// Issuer issues tokens.
type Issuer struct {
	// URL is the issuer's name (iss), Audience the audience of the hub (aud).
	URL, Audience string
	// Key signs with ES256 under the key id KID.
	KID string
	Key *ecdsa.PrivateKey
}

// NewKey returns a new key for an issuer.
func NewKey(tb testing.TB) *ecdsa.PrivateKey {
	tb.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		tb.Fatal(err)
	}
	return key
}

// Object is a JSON object.
type Object = map[string]any

// Good returns the claims of a valid token of ada, with changes; a nil value removes a claim.
func (i *Issuer) Good(changes Object) Object {
	c := Object{
		"iss": i.URL, "aud": i.Audience, "sub": "ada", "scope": "a2a",
		"exp": time.Now().Add(time.Hour).Unix(),
	}
	maps.Copy(c, changes)
	maps.DeleteFunc(c, func(_ string, v any) bool { return v == nil })
	return c
}

// Token signs claims.
func (i *Issuer) Token(tb testing.TB, claims Object) string {
	tb.Helper()
	return Sign(tb, jose.ES256, i.key(), claims, "JWT")
}

func (i *Issuer) key() jose.JSONWebKey { return jose.JSONWebKey{Key: i.Key, KeyID: i.KID} }

// KeySet returns the issuer's key set (JWKS).
func (i *Issuer) KeySet(tb testing.TB) []byte {
	tb.Helper()
	b, err := json.Marshal(jose.JSONWebKeySet{Keys: []jose.JSONWebKey{
		{Key: i.Key.Public(), KeyID: i.KID, Algorithm: "ES256", Use: "sig"},
	}})
	if err != nil {
		tb.Fatal(err)
	}
	return b
}

// Sign signs claims with any algorithm, key and type. An empty type is omitted.
func Sign(tb testing.TB, alg jose.SignatureAlgorithm, key any, claims Object, typ jose.ContentType) string {
	tb.Helper()
	o := &jose.SignerOptions{}
	if typ != "" {
		o = o.WithType(typ)
	}
	return signed(tb, jose.SigningKey{Algorithm: alg, Key: key}, o, claims)
}

// signed signs claims with the additional headers in o.
func signed(tb testing.TB, key jose.SigningKey, o *jose.SignerOptions, claims Object) string {
	tb.Helper()
	s, err := jose.NewSigner(key, o)
	if err != nil {
		tb.Fatal(err)
	}
	text, err := jwt.Signed(s).Claims(claims).Serialize()
	if err != nil {
		tb.Fatal(err)
	}
	return text
}

// Case is a token that must be refused.
type Case struct {
	Name, Token string
	// Why is part of the log line for the refusal; it may be empty.
	Why string
}

// maxToken and maxSubject are the longest token and the longest subject that a verifier
// accepts.
const (
	maxToken   = 8 << 10
	maxSubject = 256
)

// Bad returns all invalid tokens that are derived from i. The hub must require the scope "a2a"
// and allow a clock skew of a minute.
func Bad(tb testing.TB, i *Issuer) []Case {
	tb.Helper()
	return append(badClaims(tb, i), append(badSignatures(tb, i), badTexts(tb, i)...)...)
}

// badClaims returns correctly signed tokens with invalid claims.
func badClaims(tb testing.TB, i *Issuer) []Case {
	tb.Helper()
	with := func(changes Object) string { return i.Token(tb, i.Good(changes)) }
	ago, later := time.Now().Add(-2*time.Minute).Unix(), time.Now().Add(2*time.Minute).Unix()
	return []Case{
		{"expired", with(Object{"exp": ago}), "expired"},
		{"no end", with(Object{"exp": nil}), "no expiry"},
		{"end is a text", with(Object{"exp": "soon"}), "cannot be read"},
		{"an end beyond all years", with(Object{"exp": -1e300}), ""},
		{"not yet", with(Object{"nbf": later}), "not valid yet"},
		{"from the future", with(Object{"iat": later}), "in the future"},
		{"another audience", with(Object{"aud": "https://other.example"}), "wrong audience"},
		{"audience with a slash", with(Object{"aud": i.Audience + "/"}), "wrong audience"},
		{"no audience", with(Object{"aud": nil}), "wrong audience"},
		{"another issuer", with(Object{"iss": "https://evil.example"}), "wrong issuer"},
		{"issuer with a slash", with(Object{"iss": i.URL + "/"}), "wrong issuer"},
		{"no issuer", with(Object{"iss": nil}), "wrong issuer"},
		{"no subject", with(Object{"sub": nil}), "subject"},
		{"subject of two lines", with(Object{"sub": "ada\nadmin"}), "subject"},
		{"endless subject", with(Object{"sub": strings.Repeat("a", maxSubject+1)}), "subject"},
		{"no scope", with(Object{"scope": nil}), "scope"},
		{"scope in another case", with(Object{"scope": "A2A"}), "scope"},
		{"a logout token", Sign(tb, jose.ES256, i.key(), i.Good(nil), "logout+jwt"), "type"},
	}
}

// badSignatures returns tokens with valid claims and an invalid signature.
func badSignatures(tb testing.TB, i *Issuer) []Case {
	tb.Helper()
	other := &Issuer{URL: i.URL, Audience: i.Audience, KID: i.KID, Key: NewKey(tb)}
	_, ed, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		tb.Fatal(err)
	}
	ok := i.Good(nil)
	parts := strings.Split(i.Token(tb, ok), ".")
	head := func(h string) string {
		return base64.RawURLEncoding.EncodeToString([]byte(h)) + "." + parts[1] + "." + parts[2]
	}
	none := strings.TrimSuffix(head(`{"alg":"none"}`), parts[2])
	return []Case{
		{"signed by another", other.Token(tb, ok), "not signed by a key"},
		{"unknown key", Sign(tb, jose.ES256, jose.JSONWebKey{Key: other.Key, KeyID: "k9"}, ok, "JWT"), "not signed by a key"},
		{"another algorithm", Sign(tb, jose.EdDSA, jose.JSONWebKey{Key: ed, KeyID: i.KID}, ok, "JWT"), "not signed by a key"},
		{"none", none, "algorithm"},
		{"None", head(`{"alg":"None","kid":"` + i.KID + `"}`), "algorithm"},
		{"HMAC with a public key", hmacWithPublicKey(tb, i, parts[1]), "algorithm"},
		{"payload changed", parts[0] + "." + changed(parts[1]) + "." + parts[2], ""},
		{"signature changed", parts[0] + "." + parts[1] + "." + changed(parts[2]), "not signed by a key"},
		{"signature of zeros", parts[0] + "." + parts[1] + "." + strings.Repeat("A", 86), "not signed by a key"},
		{"kid is a path", head(`{"alg":"ES256","kid":"../../` + i.KID + `"}`), "not signed by a key"},
		{"kid is a file", head(`{"alg":"ES256","kid":"/dev/null"}`), "not signed by a key"},
		{"kid is an order", head(`{"alg":"ES256","kid":"' OR 1=1"}`), "not signed by a key"},
		{"kid is a number", head(`{"alg":"ES256","kid":1}`), "algorithm"},
		{"its own key", withOwnKey(tb, other, ok), "not signed by a key"},
		{"keys elsewhere", head(`{"alg":"ES256","kid":"x","jku":"https://evil.example/keys"}`), "not signed by a key"},
		{"certificate elsewhere", head(`{"alg":"ES256","kid":"x","x5u":"https://evil.example/cert"}`), "not signed by a key"},
		{"crit", head(`{"alg":"ES256","kid":"` + i.KID + `","crit":["x"],"x":1}`), "not signed by a key"},
		{"alg twice", head(`{"alg":"ES256","alg":"none","kid":"` + i.KID + `"}`), "algorithm"},
	}
}

// badTexts returns texts that are not well-formed tokens.
func badTexts(tb testing.TB, i *Issuer) []Case {
	tb.Helper()
	text := i.Token(tb, i.Good(nil))
	parts := strings.Split(text, ".")
	return []Case{
		{"header is not JSON", base64.RawURLEncoding.EncodeToString([]byte("x")) + "." + parts[1] + "." + parts[2], "algorithm"},
		{"two parts", parts[0] + "." + parts[1], "algorithm"},
		{"four parts", text + ".AAAA", "algorithm"},
		{"encrypted, so five", strings.Repeat("AAAA.", 4) + "AAAA", "algorithm"},
		{"nothing", "", "algorithm"},
		{"dots", "..", "algorithm"},
		{"too long", strings.Repeat("a", maxToken+1), "more than"},
		{"padded base64", parts[0] + "." + parts[1] + "==." + parts[2], "algorithm"},
		{"spaces in it", parts[0] + " ." + parts[1] + "." + parts[2], "algorithm"},
		{"not base64", "!." + parts[1] + "." + parts[2], "algorithm"},
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

// hmacWithPublicKey signs with the public key as an HMAC secret.
func hmacWithPublicKey(tb testing.TB, i *Issuer, payload string) string {
	tb.Helper()
	der, err := x509.MarshalPKIXPublicKey(i.Key.Public())
	if err != nil {
		tb.Fatal(err)
	}
	input := base64.RawURLEncoding.EncodeToString([]byte(`{"alg":"HS256","kid":"`+i.KID+`"}`)) + "." + payload
	mac := hmac.New(sha256.New, pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der}))
	mac.Write([]byte(input))
	return input + "." + base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}

// withOwnKey returns a token that contains its own verification key (jwk).
func withOwnKey(tb testing.TB, i *Issuer, claims Object) string {
	tb.Helper()
	return signed(tb, jose.SigningKey{Algorithm: jose.ES256, Key: i.Key}, &jose.SignerOptions{EmbedJWK: true}, claims)
}
