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

// Key is an API key as it is kept: with the hash of its text, never with the text.
type Key struct {
	// ID names the key to people and in its own text. It is required and says
	// nothing about the text.
	ID string
	// Principal is who calls with the key. Its ID is required; see Principal.Org for
	// whose tasks it sees.
	Principal Principal
	// Hash is the SHA-256 of the text. That is enough for a key of 256 random bits:
	// a slow hash is for secrets that can be guessed, and this one can not, whatever
	// a guess costs.
	Hash [sha256.Size]byte
	// Hint is the beginning of the text, for people. It may be empty.
	Hint string
	// CreatedAt is when the key was made; zero if that is not known.
	CreatedAt time.Time
	// ExpiresAt is when the key ends to be good; zero means never.
	ExpiresAt time.Time
	// RevokedAt is when the key was taken back; zero means that it was not.
	RevokedAt time.Time
	// Configured says that the key stands in the configuration and is not kept in a
	// store.
	Configured bool
}

// Good reports whether the key opens anything at the given time.
func (k *Key) Good(at time.Time) bool { return k.flaw(at) == "" }

// flaw says why the key is not good; nothing if it is.
func (k *Key) flaw(at time.Time) string {
	switch {
	case !k.RevokedAt.IsZero():
		return "revoked key"
	case !k.ExpiresAt.IsZero() && !at.Before(k.ExpiresAt):
		return "expired key"
	}
	return ""
}

// KeyStore keeps keys. Methods are called concurrently.
type KeyStore interface {
	// Keys returns all keys that were ever put, revoked and expired ones among them,
	// in the order of their making.
	Keys(ctx context.Context) ([]Key, error)
	// PutKey stores a key in place of the one with its ID. It must be durable when
	// PutKey returns; key is not kept.
	PutKey(ctx context.Context, key *Key) error
}

const (
	keyPrefix = "pk_"
	keyBytes  = 32
	// idLength is how long the ids of new keys are: 50 bits, so that none comes twice.
	idLength = 10
	hintEnd  = "…"
)

// NewKey returns a new key for p and its text, pk_<id>_<43 letters of base64url>,
// which is not kept anywhere. The rest of the fields is the caller's. If p has no
// ID, it gets that of the key.
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
	// Short texts, which all keys are, are hashed without making garbage.
	var buf [maxCredential]byte
	if len(text) > len(buf) {
		return sha256.Sum256([]byte(text))
	}
	return sha256.Sum256(buf[:copy(buf[:], text)])
}

// MinKeyLength is the least length of a key that an operator chooses, unless the operator
// says otherwise. Shorter ones can be guessed.
const MinKeyLength = 16

// hashPrefix begins a key that is given by its hash.
const hashPrefix = "sha256:"

// ConfiguredKey returns a key that an operator has chosen for p: by its text, of at
// least 16 bytes, or as "sha256:" with the hash of the text in hexadecimal digits.
// A chosen text should be as random as that of NewKey, for instance from
// "openssl rand -hex 32". Errors never contain the text.
func ConfiguredKey(text string, p Principal) (*Key, error) {
	return ConfiguredKeyOf(text, p, MinKeyLength)
}

// ConfiguredKeyOf is ConfiguredKey for a text of at least shortest bytes. A key of fewer
// than 16 can be guessed; wrong ones are slowed down, see Keyring. A shortest below 1
// means 16.
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

// ErrShortKey is wrapped by the errors about keys that are shorter than they may be.
var ErrShortKey = errors.New("the key is shorter")

// checkText refuses what cannot travel in a header, or could be guessed.
func checkText(text string, shortest int) error {
	switch {
	case len(text) < shortest:
		return fmt.Errorf("%w than %d bytes", ErrShortKey, shortest)
	case len(text) > maxCredential:
		return fmt.Errorf("the key is longer than %d bytes", maxCredential)
	case strings.ContainsFunc(text, func(r rune) bool { return r <= ' ' || r > '~' }):
		return errors.New("the key has a character that is not a visible one of ASCII")
	}
	return nil
}

// maxName bounds the names in a principal.
const maxName = 256

// Check returns an error if a key cannot stand for p: if p has no id, the id "local",
// an empty role, a name with control characters or over 256 bytes, or RoleBus beside
// something else.
func (p *Principal) Check() error {
	switch {
	case p.ID == "":
		return errors.New("the id of the caller is missing")
	case p.ID == Local:
		return fmt.Errorf("the id %q is that of callers without credentials; owner: %s gives a key their tasks", Local, Local)
	}
	if len(p.Orgs) > 0 && !slices.Contains(p.Orgs, p.Org) {
		return fmt.Errorf("the owner %q is none of the owners of the caller", p.Org)
	}
	if slices.Contains(p.Orgs, "") {
		return errors.New("an owner is empty")
	}
	for _, name := range slices.Concat([]string{p.ID, p.DisplayName, p.Org}, p.Orgs, p.Roles) {
		if len(name) > maxName || !utf8.ValidString(name) || strings.ContainsFunc(name, unicode.IsControl) {
			return fmt.Errorf("a name has over %d bytes or a control character", maxName)
		}
	}
	for _, role := range p.Roles {
		if role == "" {
			return errors.New("a role is empty")
		}
	}
	return p.checkBusRole()
}

// hintOf returns so much of a credential that a person recognises it, and nobody can
// use it: the id of a key of ours, else four characters of a long one.
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
