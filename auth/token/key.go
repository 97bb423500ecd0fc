package token

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/go-jose/go-jose/v4"
)

// Key signs assertions with ECDSA on P-256 (ES256), which every verifier supports. No text form
// shows the private key.
type Key struct {
	private *ecdsa.PrivateKey
	public  jose.JSONWebKey
	signer  jose.Signer
}

// NewKey generates a key.
func NewKey() (*Key, error) {
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	return keyOf(private)
}

// ParseKey parses the output of Key.Marshal.
func ParseKey(der []byte) (*Key, error) {
	any, err := x509.ParsePKCS8PrivateKey(der)
	if err != nil {
		return nil, errors.New("is not a private key in PKCS #8")
	}
	private, ok := any.(*ecdsa.PrivateKey)
	if !ok || private.Curve != elliptic.P256() {
		return nil, errors.New("is not a key on the curve P-256")
	}
	return keyOf(private)
}

func keyOf(private *ecdsa.PrivateKey) (*Key, error) {
	public := jose.JSONWebKey{Key: private.Public(), Algorithm: string(jose.ES256), Use: "sig"}
	sum, err := public.Thumbprint(crypto.SHA256)
	if err != nil {
		return nil, err
	}
	public.KeyID = base64.RawURLEncoding.EncodeToString(sum)
	signer, err := jose.NewSigner(
		jose.SigningKey{Algorithm: jose.ES256, Key: jose.JSONWebKey{Key: private, KeyID: public.KeyID}},
		(&jose.SignerOptions{}).WithType("JWT"),
	)
	if err != nil {
		return nil, err
	}
	return &Key{private, public, signer}, nil
}

// Marshal returns the private key in PKCS #8, for a file readable only by the hub.
func (k *Key) Marshal() ([]byte, error) { return x509.MarshalPKCS8PrivateKey(k.private) }

// ID returns the key's id: the SHA-256 thumbprint of RFC 7638.
func (k *Key) ID() string { return k.public.KeyID }

// String does not show the key.
func (k *Key) String() string { return "[key " + k.ID() + "]" }

// GoString does not show the key.
func (k *Key) GoString() string { return k.String() }

// MarshalJSON does not show the key.
func (k *Key) MarshalJSON() ([]byte, error) { return json.Marshal(k.String()) }

func (k *Key) sign(claims any) (string, error) {
	text, err := json.Marshal(claims)
	if err != nil {
		return "", fmt.Errorf("sign: %w", err)
	}
	signed, err := k.signer.Sign(text)
	if err != nil {
		return "", fmt.Errorf("sign: %w", err)
	}
	return signed.CompactSerialize()
}

// Metadata returns the discovery document of an issuer of assertions, which is served at its
// address plus "/.well-known/openid-configuration". It names the issuer and the address of its
// key set, so that verifiers need only the issuer's address (OpenID Connect Discovery 1.0 §3,
// RFC 8414 §2). It has no endpoints for logins or tokens.
func Metadata(issuer, keysURL string) ([]byte, error) {
	return json.Marshal(struct {
		Issuer        string   `json:"issuer"`
		KeysURL       string   `json:"jwks_uri"`
		Algorithms    []string `json:"id_token_signing_alg_values_supported"`
		SubjectTypes  []string `json:"subject_types_supported"`
		ResponseTypes []string `json:"response_types_supported"`
		GrantTypes    []string `json:"grant_types_supported"`
	}{
		Issuer: issuer, KeysURL: keysURL, Algorithms: []string{string(jose.ES256)}, SubjectTypes: []string{"public"},
		ResponseTypes: []string{}, GrantTypes: []string{},
	})
}

// KeySet returns the public keys as a key set (RFC 7517 §5).
func KeySet(keys ...*Key) ([]byte, error) {
	set := jose.JSONWebKeySet{Keys: []jose.JSONWebKey{}}
	for _, k := range keys {
		set.Keys = append(set.Keys, k.public)
	}
	return json.Marshal(set)
}
