package bus

import (
	"crypto/ed25519"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"sync"
	"unicode/utf8"
)

// ErrSignature is returned for an envelope without a valid signature of a trusted hub.
var ErrSignature = errors.New("signature is not valid")

// HubKey is the public key of a hub, as the hub publishes it.
type HubKey struct {
	// Hub is the id of the hub. Envelopes signed with the key have the source "hub/" and this
	// id.
	Hub string `json:"hub"`
	// Public is an Ed25519 public key (RFC 8032) of 32 bytes.
	Public []byte `json:"public"`
}

// ID returns the name of the key in signatures: the first 16 hexadecimal digits of the SHA-256
// of Public.
func (k HubKey) ID() string {
	sum := sha256.Sum256(k.Public)
	return hex.EncodeToString(sum[:8])
}

// String returns the id of the hub, a colon and Public in base64: the form that ParseHubKey
// reads.
func (k HubKey) String() string { return k.Hub + ":" + base64.StdEncoding.EncodeToString(k.Public) }

// ParseHubKey parses the result of String. The error is ErrInvalid.
func ParseHubKey(s string) (HubKey, error) {
	hub, text, ok := strings.Cut(s, ":")
	if !ok {
		return HubKey{}, fmt.Errorf("hub key %q: must be HUB:KEY: %w", s, ErrInvalid)
	}
	public, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return HubKey{}, fmt.Errorf("hub key %q: %w: %w", s, err, ErrInvalid)
	}
	k := HubKey{hub, public}
	return k, k.check()
}

func (k HubKey) check() error {
	if !isWord(k.Hub) {
		return fmt.Errorf("hub key %q: the id of a hub has letters, digits, - and _ only: %w", k, ErrInvalid)
	}
	if len(k.Public) != ed25519.PublicKeySize {
		return fmt.Errorf("hub key %q: key has %d bytes instead of %d: %w", k, len(k.Public), ed25519.PublicKeySize, ErrInvalid)
	}
	return nil
}

// Signer signs the envelopes of a hub. It is immutable and safe for concurrent use.
type Signer struct {
	hub string
	key ed25519.PrivateKey
	id  string
}

// NewSigner returns the signer of a hub with the private key that belongs to seed: 32 random
// bytes (RFC 8032). If seed is nil, the key is new and ends with the process.
func NewSigner(hub string, seed []byte) (*Signer, error) {
	if seed == nil {
		seed = make([]byte, ed25519.SeedSize)
		_, _ = rand.Read(seed) // never fails
	}
	if len(seed) != ed25519.SeedSize {
		return nil, fmt.Errorf("signer of hub %q: seed has %d bytes instead of %d: %w", hub, len(seed), ed25519.SeedSize, ErrInvalid)
	}
	s := &Signer{hub: hub, key: ed25519.NewKeyFromSeed(seed)}
	k := s.HubKey()
	s.id = k.ID()
	return s, k.check()
}

// Hub returns the id of the hub.
func (s *Signer) Hub() string { return s.hub }

// HubKey returns the public key.
func (s *Signer) HubKey() HubKey {
	return HubKey{s.hub, []byte(s.key.Public().(ed25519.PublicKey))}
}

// Sign sets e.Signature and e.Version. Any later change of e except of Reason and Queue
// invalidates the signature. The error is ErrInvalid: the source of e is not this hub, or its
// body is not JSON in UTF-8.
func (s *Signer) Sign(e *Envelope) error {
	if hub, ok := strings.CutPrefix(e.Source, "hub/"); !ok || hub != s.hub {
		return fmt.Errorf("sign envelope %q: source is %q, not %q: %w", e.ID, e.Source, "hub/"+s.hub, ErrInvalid)
	}
	if !utf8.Valid(e.Body) {
		return fmt.Errorf("sign envelope %q: body is not UTF-8: %w", e.ID, ErrInvalid)
	}
	e.Version = Version
	form, err := e.form()
	if err != nil {
		return fmt.Errorf("sign envelope %q: %w: %w", e.ID, err, ErrInvalid)
	}
	e.Signature = &Signature{Key: s.id, Value: ed25519.Sign(s.key, form)}
	return nil
}

// Keyring holds the keys of the hubs that a worker trusts. The zero Keyring trusts no key. It
// is safe for concurrent use.
type Keyring struct {
	mu   sync.RWMutex // guards keys
	keys map[string]HubKey
}

// NewKeyring returns a Keyring with keys. The error is ErrInvalid.
func NewKeyring(keys ...HubKey) (*Keyring, error) {
	r := new(Keyring)
	for _, k := range keys {
		if err := r.Add(k); err != nil {
			return nil, err
		}
	}
	return r, nil
}

// Add makes k trusted from now on. A hub may have several keys. The error is ErrInvalid.
func (r *Keyring) Add(k HubKey) error {
	if err := k.check(); err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.keys == nil {
		r.keys = map[string]HubKey{}
	}
	r.keys[k.ID()] = k
	return nil
}

// Knows reports whether the Keyring has a key of the hub.
func (r *Keyring) Knows(hub string) bool {
	r.mu.RLock()
	defer r.mu.RUnlock()
	for _, k := range r.keys {
		if k.Hub == hub {
			return true
		}
	}
	return false
}

// Verify returns nil if e carries a valid signature of a trusted key of its source. Otherwise
// the error wraps ErrSignature and states the reason. Verify checks neither the time, nor
// whether e is new or for the receiver.
func (r *Keyring) Verify(e *Envelope) error {
	if err := r.verify(e); err != nil {
		return fmt.Errorf("envelope %q of type %q from %q: %w: %w", e.ID, e.Type, e.Source, err, ErrSignature)
	}
	return nil
}

func (r *Keyring) verify(e *Envelope) error {
	if e.Signature == nil {
		return errors.New("is not signed")
	}
	r.mu.RLock()
	k, ok := r.keys[e.Signature.Key]
	r.mu.RUnlock()
	if !ok {
		return fmt.Errorf("key %q is not trusted", e.Signature.Key)
	}
	if e.Source != "hub/"+k.Hub {
		return fmt.Errorf("key %q is of hub %q", e.Signature.Key, k.Hub)
	}
	form, err := e.form()
	if err != nil {
		return err
	}
	if !ed25519.Verify(k.Public, form, e.Signature.Value) {
		return errors.New("the content was changed or signed with another key")
	}
	return nil
}
