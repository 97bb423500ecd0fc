package signature

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/asn1"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/go-jose/go-jose/v4"
)

// ErrKey is returned for a key that is neither ECDSA on P-256, nor Ed25519, nor RSA with at
// least 2048 bits.
var ErrKey = errors.New("keys of cards are ECDSA P-256, Ed25519, or RSA with at least 2048 bits")

// minRSA is the minimum number of bits of an RSA key (RFC 7518 §3.3).
const minRSA = 2048

// Signer is a private key with its description.
type Signer struct {
	// Key is the private key. It is required.
	Key crypto.Signer
	// ID is the id of the key (kid). If empty, it is the key's thumbprint (RFC 7638).
	ID string
	// KeysURL is the address of the public key (jku); empty omits it.
	KeysURL string
}

// Sign returns doc with the signatures of all signers, in their order. doc is the v1.0 document
// of a card without signatures.
func Sign(doc []byte, signers ...*Signer) ([]byte, error) {
	signatures, err := Make(doc, signers...)
	if err != nil || len(signatures) == 0 {
		return doc, err
	}
	list, err := json.Marshal(signatures)
	if err != nil {
		return nil, fmt.Errorf("sign card: %w", err)
	}
	open := bytes.TrimRight(bytes.TrimSuffix(bytes.TrimSpace(doc), []byte("}")), " \t\r\n")
	signed := append(bytes.Clone(open), `,"signatures":`...)
	return append(append(signed, list...), '}'), nil
}

// Make returns the signatures of all signers over doc, the v1.0 document of a card, in their
// order. Signatures in doc are not covered.
func Make(doc []byte, signers ...*Signer) ([]a2a.AgentCardSignature, error) {
	var signatures []a2a.AgentCardSignature
	for _, s := range signers {
		more, err := s.sign(doc)
		if err != nil {
			return nil, fmt.Errorf("sign card: %w", err)
		}
		signatures = append(signatures, more...)
	}
	return signatures, nil
}

// sign returns a signature for each distinct form of doc.
func (s *Signer) sign(doc []byte) ([]a2a.AgentCardSignature, error) {
	protected, err := s.header()
	if err != nil {
		return nil, err
	}
	var signatures []a2a.AgentCardSignature
	var last []byte
	for _, f := range [...]Form{Exact, Dense} {
		payload, err := Canonical(doc, f)
		if err != nil {
			return nil, err
		}
		if bytes.Equal(payload, last) {
			continue
		}
		last = payload
		raw, err := s.bytes([]byte(protected + "." + encode(payload)))
		if err != nil {
			return nil, fmt.Errorf("key %q: %w", s.ID, err)
		}
		signatures = append(signatures, a2a.AgentCardSignature{Protected: protected, Signature: encode(raw)})
	}
	return signatures, nil
}

func encode(b []byte) string { return base64.RawURLEncoding.EncodeToString(b) }

// header returns the protected header (specification §8.4.2).
func (s *Signer) header() (string, error) {
	key, err := s.Public()
	if err != nil {
		return "", err
	}
	text, err := json.Marshal(struct {
		Algorithm string `json:"alg"`
		Type      string `json:"typ"`
		KeyID     string `json:"kid"`
		KeysURL   string `json:"jku,omitempty"`
	}{key.Algorithm, "JOSE", key.KeyID, s.KeysURL})
	return encode(text), err
}

// Public returns the published form of the public key.
func (s *Signer) Public() (jose.JSONWebKey, error) {
	if s.Key == nil {
		return jose.JSONWebKey{}, ErrKey
	}
	return publicKey(s.Key.Public(), s.ID)
}

// publicKey describes a public key; if id is empty, the thumbprint becomes the id.
func publicKey(key crypto.PublicKey, id string) (jose.JSONWebKey, error) {
	alg, err := algorithmOf(key)
	if err != nil {
		return jose.JSONWebKey{}, err
	}
	k := jose.JSONWebKey{Key: key, KeyID: id, Algorithm: string(alg), Use: "sig"}
	if k.KeyID == "" {
		sum, err := k.Thumbprint(crypto.SHA256)
		if err != nil {
			return k, err
		}
		k.KeyID = encode(sum)
	}
	return k, nil
}

// algorithmOf returns the single algorithm for a public key.
func algorithmOf(key crypto.PublicKey) (jose.SignatureAlgorithm, error) {
	switch k := key.(type) {
	case *ecdsa.PublicKey:
		if k.Curve == elliptic.P256() {
			return jose.ES256, nil
		}
	case ed25519.PublicKey:
		return jose.EdDSA, nil
	case *rsa.PublicKey:
		if k.N != nil && k.N.BitLen() >= minRSA {
			return jose.RS256, nil
		}
	}
	return "", ErrKey
}

// bytes signs input. It is deterministic, because a card whose bytes change gets another entity
// tag.
func (s *Signer) bytes(input []byte) ([]byte, error) {
	sum := sha256.Sum256(input)
	switch s.Key.Public().(type) {
	case ed25519.PublicKey:
		return s.Key.Sign(nil, input, crypto.Hash(0))
	case *ecdsa.PublicKey:
		der, err := s.Key.Sign(nil, sum[:], crypto.SHA256) // RFC 6979
		if err != nil {
			return nil, err
		}
		return fixedSize(der)
	}
	return s.Key.Sign(nil, sum[:], crypto.SHA256) // PKCS #1 v1.5
}

// fixedSize returns an ECDSA signature in the form of JWS (RFC 7518 §3.4).
func fixedSize(der []byte) ([]byte, error) {
	var sig struct{ R, S *big.Int }
	if _, err := asn1.Unmarshal(der, &sig); err != nil {
		return nil, err
	}
	out := make([]byte, 64)
	sig.R.FillBytes(out[:32])
	sig.S.FillBytes(out[32:])
	return out, nil
}

// JWKS returns the key set with the public keys of signers, as JSON (RFC 7517 §5).
func JWKS(signers ...*Signer) ([]byte, error) {
	set := jose.JSONWebKeySet{Keys: []jose.JSONWebKey{}}
	for _, s := range signers {
		k, err := s.Public()
		if err != nil {
			return nil, fmt.Errorf("key set: key %q: %w", s.ID, err)
		}
		set.Keys = append(set.Keys, k)
	}
	return json.Marshal(set)
}
