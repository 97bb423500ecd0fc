package signature

import (
	"bytes"
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestCanonical checks the example of the specification (§8.4.1).
func TestCanonical(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		form     Form
		in, want string
	}{
		{
			Exact,
			`{"name": "Example Agent", "description": "", "skills": [],
			  "capabilities": {"streaming": false, "pushNotifications": false, "extensions": []}}`,
			`{"capabilities":{"pushNotifications":false,"streaming":false},"description":"","name":"Example Agent","skills":[]}`,
		},
		{
			Dense,
			`{"name": "Example Agent", "description": "", "skills": [],
			  "capabilities": {"streaming": false, "pushNotifications": false, "extensions": []}}`,
			`{"capabilities":{"pushNotifications":false,"streaming":false},"name":"Example Agent"}`,
		},
		{
			Exact,
			`{"name":"a","url":"https://elsewhere.example","signatures":[{}],"documentationUrl":"","provider":null,
			  "supportedInterfaces":[{"url":"u","protocolBinding":"JSONRPC","tenant":"","protocolVersion":"1.0","x":1}],
			  "securityRequirements":[{"schemes":{"key":{"list":[]},"oauth":{"list":["read"]}}}],
			  "securitySchemes":{"key":{"apiKeySecurityScheme":{"description":"","location":"header","name":"X"},"type":"apiKey"}},
			  "skills":[{"id":"s","name":"","description":"","tags":[],"examples":[],"inputModes":["text/plain"]}],
			  "capabilities":{"extensions":[{"uri":"u","required":false,"params":{"a":"","b":[]}}]}}`,
			`{"capabilities":{"extensions":[{"params":{"a":"","b":[]},"uri":"u"}]},"documentationUrl":"","name":"a",` +
				`"securityRequirements":[{"schemes":{"key":{},"oauth":{"list":["read"]}}}],` +
				`"securitySchemes":{"key":{"apiKeySecurityScheme":{"location":"header","name":"X"}}},` +
				`"skills":[{"description":"","id":"s","inputModes":["text/plain"],"name":"","tags":[]}],` +
				`"supportedInterfaces":[{"protocolBinding":"JSONRPC","protocolVersion":"1.0","url":"u"}]}`,
		},
		{Received, `{"b":"","signatures":[1],"a":[]}`, `{"a":[],"b":""}`},
	} {
		got, err := Canonical([]byte(tc.in), tc.form)
		if err != nil {
			t.Errorf("Canonical(%s): %v", tc.in, err)
		}
		if diff := cmp.Diff(tc.want, string(got)); diff != "" {
			t.Errorf("Canonical(%s, %v) (-want +got):\n%s", tc.in, tc.form, diff)
		}
	}
}

const sample = `{"name":"a","description":"","version":"1","supportedInterfaces":[],"capabilities":{"streaming":true},` +
	`"defaultInputModes":["text/plain"],"defaultOutputModes":["text/plain"],"skills":[]}`

// keysOf returns a private key of each kind.
func keysOf(t *testing.T) map[string]crypto.Signer {
	t.Helper()
	ec, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	_, ed, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	rs, err := rsa.GenerateKey(rand.Reader, minRSA)
	if err != nil {
		t.Fatal(err)
	}
	return map[string]crypto.Signer{"ES256": ec, "EdDSA": ed, "RS256": rs}
}

func TestSignAndVerify(t *testing.T) {
	t.Parallel()
	for alg, key := range keysOf(t) {
		der, err := x509.MarshalPKCS8PrivateKey(key)
		if err != nil {
			t.Fatal(err)
		}
		s, err := ParseSigner(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}))
		if err != nil {
			t.Fatalf("%s: ParseSigner: %v", alg, err)
		}
		signed, err := Sign([]byte(sample), s)
		if err != nil {
			t.Fatalf("%s: Sign: %v", alg, err)
		}
		again, err := Sign([]byte(sample), s)
		if err != nil || !bytes.Equal(signed, again) {
			t.Errorf("%s: signing again gave other bytes (%v)", alg, err)
		}
		set, err := JWKS(s)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(set), `"d"`) {
			t.Fatalf("%s: the key set has a private key: %s", alg, set)
		}
		pinned, err := ParseKeys(set)
		if err != nil {
			t.Fatalf("%s: ParseKeys: %v", alg, err)
		}
		v := &Verifier{Keys: pinned}
		proof, err := v.Verify(t.Context(), signed)
		if err != nil {
			t.Fatalf("%s: Verify: %v", alg, err)
		}
		want, _ := Canonical([]byte(sample), Exact)
		got := *proof
		if diff := cmp.Diff(Proof{KeyID: pinned[0].ID, Algorithm: alg, Form: Exact, Document: want}, got); diff != "" {
			t.Errorf("%s: proof (-want +got):\n%s", alg, diff)
		}
	}
}

// TestEveryByteCounts changes each byte of a signed card.
func TestEveryByteCounts(t *testing.T) {
	t.Parallel()
	s := &Signer{Key: keysOf(t)["EdDSA"], ID: "k"}
	signed, err := Sign([]byte(sample), s)
	if err != nil {
		t.Fatal(err)
	}
	v := &Verifier{Keys: []PinnedKey{{ID: "k", Key: s.Key.Public()}}}
	exact, _ := Canonical([]byte(sample), Exact)
	thin, _ := Canonical([]byte(sample), Dense)
	for i := range signed {
		for _, mask := range []byte{1, 2, 32} {
			changed := bytes.Clone(signed)
			changed[i] ^= mask
			proof, err := v.Verify(t.Context(), changed)
			// After a change of a field's name, or of one of the two signatures, the other
			// signature may remain valid; the returned document is then exactly the signed one.
			if err == nil && !bytes.Equal(proof.Document, exact) && !bytes.Equal(proof.Document, thin) {
				t.Fatalf("byte %d ^ %d: verified %s", i, mask, proof.Document)
			}
		}
	}
}

// sets are key sets by address.
type sets map[string][]byte

func (s sets) KeySet(_ context.Context, address string) ([]byte, error) {
	if text, ok := s[address]; ok {
		return text, nil
	}
	return nil, fmt.Errorf("nothing at %s", address)
}

const keysURL = "https://keys.example/jwks.json"

func TestVerifyByKeysURL(t *testing.T) {
	t.Parallel()
	s := &Signer{Key: keysOf(t)["ES256"], KeysURL: keysURL}
	signed, err := Sign([]byte(sample), s)
	if err != nil {
		t.Fatal(err)
	}
	set, err := JWKS(s)
	if err != nil {
		t.Fatal(err)
	}
	set = bytes.Replace(set, []byte(`"keys":[`), []byte(`"keys":[{"kty":"EC","crv":7},{"kty":"new"},null,`), 1) // they cost nothing but themselves
	v := &Verifier{KeysURLs: []string{keysURL}, Sets: sets{keysURL: set}}
	proof, err := v.Verify(t.Context(), signed)
	if err != nil || proof.KeysURL != keysURL {
		t.Fatalf("Verify = %+v, %v", proof, err)
	}
	v.KeysURLs = []string{"https://keys.example/other.json"}
	if _, err := v.Verify(t.Context(), signed); !errors.Is(err, ErrUntrusted) || !strings.Contains(err.Error(), "not trusted") {
		t.Errorf("an address that was not allowed: %v", err)
	}
}

// TestVerifyRefuses tries cards that must be refused without a trusted key.
func TestVerifyRefuses(t *testing.T) {
	t.Parallel()
	keys := keysOf(t)
	good := &Signer{Key: keys["RS256"], ID: "good"}
	other := &Signer{Key: keys["EdDSA"], ID: "good"}
	signed, err := Sign([]byte(sample), good)
	if err != nil {
		t.Fatal(err)
	}
	forged, err := Sign([]byte(sample), other)
	if err != nil {
		t.Fatal(err)
	}
	header := func(text string) string {
		return `{"name":"a","signatures":[{"protected":"` + encode([]byte(text)) + `","signature":"AAAA"}]}`
	}
	v := &Verifier{Keys: []PinnedKey{{ID: "good", Key: good.Key.Public()}}, KeysURLs: []string{"http://keys.example/"}, Sets: sets{}}
	for name, tc := range map[string]struct{ doc, want string }{
		"unsigned":              {sample, "not signed"},
		"no list":               {`{"signatures":"x"}`, "verify card"},
		"no card":               {`[`, "verify card"},
		"by another key":        {string(forged), "has changed since it was signed"},
		"name changed":          {strings.Replace(string(signed), `"name":"a"`, `"name":"b"`, 1), "has changed since it was signed"},
		"name twice":            {strings.Replace(string(signed), `"name":"a"`, `"name":"a","name":"b"`, 1), "duplicate"},
		"none":                  {header(`{"alg":"none","kid":"good"}`), `algorithm "none"`},
		"HMAC":                  {header(`{"alg":"HS256","kid":"good"}`), `algorithm "HS256"`},
		"no kid":                {header(`{"alg":"ES256"}`), "no kid"},
		"kid of nobody":         {header(`{"alg":"ES256","kid":"../../etc/passwd"}`), "not known"},
		"keys elsewhere":        {header(`{"alg":"ES256","kid":"k","jku":"https://evil.example/k"}`), "not trusted"},
		"keys in the clear":     {header(`{"alg":"ES256","kid":"k","jku":"http://keys.example/"}`), "over https"},
		"header is not JSON":    {header(`x`), "not a JSON object"},
		"header is no base64":   {`{"signatures":[{"protected":"!","signature":"AAAA"}]}`, "not base64url"},
		"header is too long":    {`{"signatures":[{"protected":"` + strings.Repeat("A", maxHeader+1) + `"}]}`, "more than"},
		"unknown crit":          {header(`{"alg":"RS256","kid":"good","crit":["x"],"x":1}`), "has changed since it was signed"},
		"too many signatures":   {`{"signatures":[` + strings.Repeat("{},", maxSignatures) + `{}]}`, "the maximum is 16"},
		"another key's RS256":   {header(`{"alg":"ES256","kid":"good"}`), "has changed since it was signed"},
		"an empty signature":    {strings.Replace(header(`{"alg":"RS256","kid":"good"}`), "AAAA", "", 1), "has changed since it was signed"},
		"nested without bounds": {`{"name":` + strings.Repeat("[", 10_001) + strings.Repeat("]", 10_001) + `,"signatures":[{}]}`, "depth"},
	} {
		_, err := v.Verify(t.Context(), []byte(tc.doc))
		if err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v, want %q", name, err, tc.want)
		}
	}
	if _, err := v.Verify(t.Context(), signed); err != nil {
		t.Errorf("the good one: %v", err)
	}
}

// TestOverlap verifies a card signed with an old and a new key, by either key.
func TestOverlap(t *testing.T) {
	t.Parallel()
	keys := keysOf(t)
	old, young := &Signer{Key: keys["RS256"], ID: "old"}, &Signer{Key: keys["ES256"], ID: "new"}
	signed, err := Sign([]byte(sample), young, old)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range []*Signer{old, young} {
		v := &Verifier{Keys: []PinnedKey{{ID: s.ID, Key: s.Key.Public()}}}
		if proof, err := v.Verify(t.Context(), signed); err != nil || proof.KeyID != s.ID {
			t.Errorf("with %s: %+v, %v", s.ID, proof, err)
		}
	}
}

// TestAddedFieldsAreNotSigned checks that fields added to a signed card are not in the document
// of the proof.
func TestAddedFieldsAreNotSigned(t *testing.T) {
	t.Parallel()
	s := &Signer{Key: keysOf(t)["ES256"], ID: "k"}
	signed, err := Sign([]byte(sample), s)
	if err != nil {
		t.Fatal(err)
	}
	more := strings.Replace(string(signed), "{", `{"url":"https://evil.example",`, 1)
	v := &Verifier{Keys: []PinnedKey{{Key: s.Key.Public()}}}
	proof, err := v.Verify(t.Context(), []byte(more))
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(proof.Document), "evil") {
		t.Errorf("verified %s", proof.Document)
	}
}

func TestKeysThatAreRefused(t *testing.T) {
	t.Parallel()
	weak, err := rsa.GenerateKey(rand.Reader, 1024)
	if err != nil {
		t.Fatal(err)
	}
	p384, err := ecdsa.GenerateKey(elliptic.P384(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	for name, key := range map[string]crypto.Signer{"RSA of 1024 bits": weak, "P-384": p384} {
		if _, err := Sign([]byte(sample), &Signer{Key: key}); !errors.Is(err, ErrKey) {
			t.Errorf("%s: Sign: %v, want %v", name, err, ErrKey)
		}
		der, err := x509.MarshalPKIXPublicKey(key.Public())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := ParseKeys(pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der})); !errors.Is(err, ErrKey) {
			t.Errorf("%s: ParseKeys: %v, want %v", name, err, ErrKey)
		}
	}
	for _, text := range []string{"", "x", "{}", `{"keys":[]}`, `{"kty":"oct","k":"AAAA"}`} {
		if keys, err := ParseKeys([]byte(text)); err == nil {
			t.Errorf("ParseKeys(%q) = %v", text, keys)
		}
		if s, err := ParseSigner([]byte(text)); !errors.Is(err, ErrNoKey) {
			t.Errorf("ParseSigner(%q) = %v, %v", text, s, err)
		}
	}
}

func FuzzVerify(f *testing.F) {
	_, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		f.Fatal(err)
	}
	s := &Signer{Key: key, ID: "k"}
	signed, err := Sign([]byte(sample), s)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(signed)
	f.Add([]byte(sample))
	v := &Verifier{Keys: []PinnedKey{{Key: key.Public()}}}
	exact, _ := Canonical([]byte(sample), Exact)
	thin, _ := Canonical([]byte(sample), Dense)
	f.Fuzz(func(t *testing.T, doc []byte) {
		proof, err := v.Verify(t.Context(), doc)
		if err != nil {
			return
		}
		if !bytes.Equal(proof.Document, exact) && !bytes.Equal(proof.Document, thin) {
			t.Fatalf("verified an unsigned card: %s", proof.Document)
		}
		if !json.Valid(proof.Document) {
			t.Fatalf("verified document is not JSON: %s", proof.Document)
		}
	})
}

// TestVectors verifies cards signed by official SDKs; internal/e2e/interop renews them.
func TestVectors(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"python", "js"} {
		text, err := os.ReadFile("testdata/" + name + ".json")
		if err != nil {
			t.Fatal(err)
		}
		var vectors []struct {
			Algorithm string          `json:"alg"`
			Key       string          `json:"key"`
			Card      json.RawMessage `json:"card"`
		}
		if err := json.Unmarshal(text, &vectors); err != nil || len(vectors) == 0 {
			t.Fatalf("%s: %d vectors, %v", name, len(vectors), err)
		}
		for i, vec := range vectors {
			keys, err := ParseKeys([]byte(vec.Key))
			if err != nil {
				t.Fatal(err)
			}
			proof, err := (&Verifier{Keys: keys}).Verify(t.Context(), vec.Card)
			if err != nil || proof.Algorithm != vec.Algorithm {
				t.Errorf("%s[%d]: %+v, %v, want a proof with %s", name, i, proof, err, vec.Algorithm)
			}
		}
	}
}
