package signature

import (
	"bytes"
	"crypto"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"

	"github.com/go-jose/go-jose/v4"
	josejson "github.com/go-jose/go-jose/v4/json"
)

// ErrNoKey is returned for a text without a key.
var ErrNoKey = errors.New("there is no key")

// ParseSigner parses a private key in PEM: PKCS #8, SEC 1 or PKCS #1.
func ParseSigner(text []byte) (*Signer, error) {
	for block, rest := pem.Decode(text); block != nil; block, rest = pem.Decode(rest) {
		key, err := parsePrivate(block)
		if err != nil {
			return nil, fmt.Errorf("private key: %w", err)
		}
		if key == nil {
			continue
		}
		if _, err := algorithmOf(key.Public()); err != nil {
			return nil, fmt.Errorf("private key: %w", err)
		}
		return &Signer{Key: key}, nil
	}
	return nil, fmt.Errorf("private key in PEM: %w", ErrNoKey)
}

// parsePrivate returns nil for a block without a private key.
func parsePrivate(block *pem.Block) (crypto.Signer, error) {
	var key any
	var err error
	switch block.Type {
	case "PRIVATE KEY":
		key, err = x509.ParsePKCS8PrivateKey(block.Bytes)
	case "EC PRIVATE KEY":
		key, err = x509.ParseECPrivateKey(block.Bytes)
	case "RSA PRIVATE KEY":
		key, err = x509.ParsePKCS1PrivateKey(block.Bytes)
	default:
		return nil, nil
	}
	if err != nil {
		return nil, errors.New("not readable")
	}
	signer, ok := key.(crypto.Signer)
	if !ok {
		return nil, ErrKey
	}
	return signer, nil
}

// ParseKeys parses trusted public keys: a JSON Web Key, a set of them, or PEM with public keys
// or certificates. Keys from PEM match any key id.
func ParseKeys(text []byte) ([]PinnedKey, error) {
	if text = bytes.TrimSpace(text); len(text) > 0 && text[0] == '{' {
		return parseJWK(text)
	}
	var keys []PinnedKey
	for block, rest := pem.Decode(text); block != nil; block, rest = pem.Decode(rest) {
		key, err := parsePublic(block)
		if err != nil {
			return nil, fmt.Errorf("public key: %w", err)
		}
		keys = append(keys, PinnedKey{Key: key})
	}
	return checkKeys(keys)
}

func parsePublic(block *pem.Block) (crypto.PublicKey, error) {
	switch block.Type {
	case "PUBLIC KEY":
		return x509.ParsePKIXPublicKey(block.Bytes)
	case "RSA PUBLIC KEY":
		return x509.ParsePKCS1PublicKey(block.Bytes)
	case "CERTIFICATE":
		c, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return nil, err
		}
		return c.PublicKey, nil
	}
	return nil, fmt.Errorf("a block of type %q is not a public key", block.Type)
}

func parseJWK(text []byte) ([]PinnedKey, error) {
	set, err := readSet(text)
	if err != nil {
		return nil, fmt.Errorf("key set: %w", err)
	}
	if len(set) == 0 {
		one, err := readKey(text)
		if err != nil {
			return nil, fmt.Errorf("key: %w", err)
		}
		set = append(set, one)
	}
	var keys []PinnedKey
	for _, k := range set {
		keys = append(keys, PinnedKey{ID: k.KeyID, Key: k.Key})
	}
	return checkKeys(keys)
}

// readSet reads a JSON Web Key Set. The error is about the first key that cannot be read; the others are
// returned nevertheless.
func readSet(text []byte) (keys []jose.JSONWebKey, unread error) {
	var set struct {
		Keys []json.RawMessage `json:"keys"`
	}
	if err := json.Unmarshal(text, &set); err != nil {
		return nil, errors.New("it is not a JSON Web Key Set: an object with a list of keys")
	}
	for i, raw := range set.Keys {
		k, err := readKey(raw)
		if err == nil {
			keys = append(keys, k)
		} else if unread == nil {
			unread = fmt.Errorf("keys[%d]: %w", i, err)
		}
	}
	return keys, unread
}

// readKey reads a JSON Web Key.
func readKey(text []byte) (k jose.JSONWebKey, err error) {
	err = json.Unmarshal(text, &k)
	if wrong := new(josejson.UnmarshalTypeError); errors.As(err, &wrong) {
		err = fmt.Errorf("a JSON Web Key is an object of texts, and this has a %s", wrong.Value)
	}
	return k, err
}

func checkKeys(keys []PinnedKey) ([]PinnedKey, error) {
	if len(keys) == 0 {
		return nil, fmt.Errorf("public keys: %w", ErrNoKey)
	}
	for _, k := range keys {
		if _, err := algorithmOf(k.Key); err != nil {
			return nil, fmt.Errorf("public key %q: %w", k.ID, err)
		}
	}
	return keys, nil
}
