package auth

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// Key is an API key in its stored form: with the hash of its text, never with the text.
type Key struct {
	// ID identifies the key to people and is part of its text. It is required, and independent
	// of the secret part.
	ID string
	// Principal is the caller with the key. Its ID is required; Principal.Org determines whose
	// tasks it sees.
	Principal Principal
	// Hash is the SHA-256 of the text. A fast hash is sufficient for 256 random bits: slow
	// hashes protect secrets that can be guessed.
	Hash [sha256.Size]byte
	// Hint is the beginning of the text, for people. It may be empty.
	Hint string
	// CreatedAt is the time of creation; zero if unknown.
	CreatedAt time.Time
	// ExpiresAt is the time at which the key expires; zero means never.
	ExpiresAt time.Time
	// RevokedAt is the time at which the key was revoked; zero means never.
	RevokedAt time.Time
	// Configured is set for a key from the configuration, which is not stored.
	Configured bool
	// LastUsedAt is the time of the last request, to the second, that a Keyring in this process has accepted with the
	// key; zero if there was none. Only List sets it, and it is not stored.
	LastUsedAt time.Time
}

// Good reports whether the key is valid at the given time.
func (k *Key) Good(at time.Time) bool { return k.flaw(at) == "" }

// flaw returns the reason why the key is not valid; empty if it is.
func (k *Key) flaw(at time.Time) string {
	switch {
	case !k.RevokedAt.IsZero():
		return "revoked key"
	case !k.ExpiresAt.IsZero() && !at.Before(k.ExpiresAt):
		return "expired key"
	}
	return ""
}

// KeyStore stores keys. Its methods are called concurrently.
type KeyStore interface {
	// Keys returns all keys ever put, including revoked and expired ones, in order of creation.
	Keys(ctx context.Context) ([]Key, error)
	// PutKey stores a key, replacing the one with its ID. The key must be durable when PutKey
	// returns. PutKey must not retain key.
	PutKey(ctx context.Context, key *Key) error
}

const (
	keyPrefix = "pk_"
	keyBytes  = 32
	// idLength is the length of the ids of new keys: 50 bits, so that ids are unique.
	idLength = 10
	hintEnd  = "…"
)

// NewKey returns a new key for p and its text, pk_<id>_<43 letters of base64url>. The text is
// not stored anywhere. The caller may set the other fields. If p has no ID, it is derived from
// the key's ID.
func NewKey(p Principal, at time.Time) (*Key, string) {
	secret := make([]byte, keyBytes)
	rand.Read(secret) // never fails
	k := &Key{ID: strings.ToLower(rand.Text()[:idLength]), Principal: p, CreatedAt: recorded(at)}
	text := keyPrefix + k.ID + "_" + base64.RawURLEncoding.EncodeToString(secret)
	k.Hash, k.Hint = HashKey(text), hintOf(text)
	if p.ID == "" {
		k.Principal.ID = "key-" + k.ID
	}
	return k, text
}

// HashKey returns the hash of a key's text.
func HashKey(text string) [sha256.Size]byte {
	// Short texts, which include all keys, are hashed without allocating memory.
	var buf [maxCredential]byte
	if len(text) > len(buf) {
		return sha256.Sum256([]byte(text))
	}
	return sha256.Sum256(buf[:copy(buf[:], text)])
}

// MinKeyLength is the default minimum length, in bytes, of a key chosen by an operator. Shorter
// keys can be guessed.
const MinKeyLength = 16

// hashPrefix marks a key that is configured by its hash.
const hashPrefix = "sha256:"

// ConfiguredKey returns a key chosen by an operator for p. text is the key of at least 16
// bytes, or "sha256:" and its hash in hexadecimal digits. A chosen key should be as random as
// that of NewKey, for example from "openssl rand -hex 32". Errors never contain the text.
func ConfiguredKey(text string, p Principal) (*Key, error) {
	return ConfiguredKeyOf(text, p, MinKeyLength)
}

// ConfiguredKeyOf is ConfiguredKey with a minimum length of shortest bytes. A key of fewer than
// 16 bytes can be guessed; the Keyring delays wrong ones. A shortest below 1 means 16.
func ConfiguredKeyOf(text string, p Principal, shortest int) (*Key, error) {
	if shortest < 1 {
		shortest = MinKeyLength
	}
	k := &Key{Principal: p, Configured: true}
	if digits, ok := strings.CutPrefix(text, hashPrefix); ok {
		sum, err := hex.DecodeString(digits)
		if err != nil || len(sum) != sha256.Size {
			return nil, fmt.Errorf("%s must be followed by %d hexadecimal digits", hashPrefix, 2*sha256.Size)
		}
		copy(k.Hash[:], sum)
	} else {
		if err := checkText(text, shortest); err != nil {
			return nil, err
		}
		k.Hash, k.Hint = HashKey(text), hintOf(text)
	}
	k.ID = "config-" + hex.EncodeToString(k.Hash[:4])
	return k, p.Check()
}

// ErrShortKey is wrapped by errors for keys below the minimum length.
var ErrShortKey = errors.New("the key is shorter")

// checkText returns an error for a key that cannot be sent in a header, or is too short.
func checkText(text string, shortest int) error {
	switch {
	case len(text) < shortest:
		return fmt.Errorf("%w than %d bytes", ErrShortKey, shortest)
	case len(text) > maxCredential:
		return fmt.Errorf("the key is longer than %d bytes", maxCredential)
	case strings.ContainsFunc(text, func(r rune) bool { return r <= ' ' || r > '~' }):
		return errors.New("the key has a character that is not visible ASCII")
	}
	return nil
}

// maxName limits the names in a principal, in bytes.
const maxName = 256

// Check returns an error if p cannot be the principal of a key: if p has no id, the id "local",
// an empty role, a name with control characters or over 256 bytes, or RoleBus beside other
// roles or an owner.
func (p *Principal) Check() error {
	switch {
	case p.ID == "":
		return errors.New("the id of the caller is missing")
	case p.ID == Local:
		return fmt.Errorf("the id %q is reserved for callers without credentials; to give a key their tasks, set owner: %s", Local, Local)
	}
	if len(p.Orgs) > 0 && !slices.Contains(p.Orgs, p.Org) {
		return fmt.Errorf("the caller does not have the owner %q", p.Org)
	}
	if slices.Contains(p.Orgs, "") {
		return errors.New("an owner is empty")
	}
	for _, name := range slices.Concat([]string{p.ID, p.DisplayName, p.Org}, p.Orgs, p.Roles) {
		if len(name) > maxName || !utf8.ValidString(name) || strings.ContainsFunc(name, unicode.IsControl) {
			return fmt.Errorf("a name has more than %d bytes or a control character", maxName)
		}
	}
	for _, role := range p.Roles {
		if role == "" {
			return errors.New("a role is empty")
		}
	}
	return p.checkBusRole()
}

// hintOf returns a recognisable but useless part of a credential: the id of a key generated by
// the hub, or four characters of another long one.
func hintOf(text string) string {
	if id, _, ok := strings.Cut(strings.TrimPrefix(text, keyPrefix), "_"); ok && len(id) == idLength && strings.HasPrefix(text, keyPrefix) && plain(id) {
		return keyPrefix + id + "_" + hintEnd
	}
	const shown = 4
	if len(text) < MinKeyLength || !plain(text[:shown]) {
		return ""
	}
	return text[:shown] + hintEnd
}

// plain reports whether s consists of letters, digits, dashes and underscores.
func plain(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool {
		return r != '-' && r != '_' && (r < '0' || r > '9') && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z')
	})
}
