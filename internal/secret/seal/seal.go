// Package seal encrypts secrets at rest: secrets that callers give the hub for later use, such
// as the credentials of a webhook, are stored sealed with a master key.
//
// A [Sealer] seals with AES-256-GCM. The caller names a context, such as the address that a
// credential is for. A text sealed for one context cannot be opened for another, so that a
// sealed secret cannot be moved to a row from which it would be sent elsewhere.
//
// # Guarantees
//
// [Load] creates the key if there is none: 32 random bytes, mode 0600, durable before anything
// is sealed with it. A key file of another size, or one that other users may read, is refused
// with an error that gives the reason.
//
// Each sealed text begins with a version and the id of its key, so that the key can be changed
// later. The id is a hash and reveals nothing about the key.
//
// # Non-guarantees
//
// A reader of the key file and the database can read the secrets. Nonces are random: one key
// should seal at most 2^32 texts.
package seal

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"github.com/parley-a2a/parley/internal/file/atomicfile"
)

// FileName is the name of the key in a data folder.
const FileName = "secret.key"

const (
	keySize = 32
	// version is the first byte of a sealed text.
	version = 1
	idSize  = 4
	// header is the length of the data before the nonce.
	header = 1 + idSize
)

var (
	// ErrOtherKey is returned for a text sealed with another key.
	ErrOtherKey = errors.New("sealed with another key")
	// ErrBroken is returned for a text that was changed, cut, or sealed for another context.
	ErrBroken = errors.New("sealed text is damaged")
)

// Sealer seals and opens secrets with one key.
type Sealer struct {
	key  []byte
	aead cipher.AEAD
	head [header]byte
}

// New returns a Sealer with a random key that is not stored.
func New() *Sealer {
	var key [keySize]byte
	_, _ = rand.Read(key[:]) // never fails
	return newBox(key[:])
}

func newBox(key []byte) *Sealer {
	block, err := aes.NewCipher(key)
	if err != nil {
		panic("seal: " + err.Error()) // the size is right
	}
	aead, err := cipher.NewGCM(block)
	if err != nil {
		panic("seal: " + err.Error())
	}
	b := &Sealer{key: key, aead: aead}
	b.head[0] = version
	id := sha256.Sum256(append([]byte("parley key id\x00"), key...))
	copy(b.head[1:], id[:])
	return b
}

// Seal encrypts plain for a context.
func (b *Sealer) Seal(plain, context []byte) []byte {
	out := make([]byte, header+b.aead.NonceSize(), header+b.aead.NonceSize()+len(plain)+b.aead.Overhead())
	copy(out, b.head[:])
	nonce := out[header:]
	_, _ = rand.Read(nonce) // never fails
	return b.aead.Seal(out, nonce, plain, b.bound(context))
}

// Open decrypts a text sealed for a context. It returns ErrOtherKey or ErrBroken.
func (b *Sealer) Open(sealed, context []byte) ([]byte, error) {
	if len(sealed) < header+b.aead.NonceSize()+b.aead.Overhead() || sealed[0] != version {
		return nil, ErrBroken
	}
	if !bytes.Equal(sealed[:header], b.head[:]) {
		return nil, ErrOtherKey
	}
	body := sealed[header:]
	nonce, body := body[:b.aead.NonceSize()], body[b.aead.NonceSize():]
	plain, err := b.aead.Open(nil, nonce, body, b.bound(context))
	if err != nil {
		return nil, ErrBroken
	}
	return plain, nil
}

// Key derives a key of 32 bytes for a named purpose. It reveals nothing about the master key or
// the keys of other purposes (RFC 5869).
func (b *Sealer) Key(purpose string) []byte {
	key, err := hkdf.Key(sha256.New, b.key, nil, purpose, keySize)
	if err != nil {
		panic("seal: " + err.Error()) // the size is right
	}
	return key
}

// bound returns the additional authenticated data: the header and the context.
func (b *Sealer) bound(context []byte) []byte {
	return append(b.head[:header:header], context...)
}

// Load returns a Sealer with the key in the file at path. If the file does not exist, Load creates
// it with a new key. Only one process may call Load for a file at one time.
func Load(path string) (*Sealer, error) {
	key, err := read(path)
	if errors.Is(err, fs.ErrNotExist) {
		key, err = create(path)
	}
	if err != nil {
		return nil, fmt.Errorf("master key %s: %w", path, err)
	}
	return newBox(key), nil
}

// Parse returns a Sealer with a key of 32 bytes in hexadecimal or base64. The error contains nothing
// of the text.
func Parse(text string) (*Sealer, error) {
	text = strings.TrimSpace(text)
	for _, decode := range []func(string) ([]byte, error){hex.DecodeString, base64.StdEncoding.DecodeString} {
		if key, err := decode(text); err == nil && len(key) == keySize {
			return newBox(key), nil
		}
	}
	return nil, fmt.Errorf("it is not %d bytes in hexadecimal or base64; make one with: openssl rand -hex %d", keySize, keySize)
}

func read(path string) ([]byte, error) {
	size, err := atomicfile.PrivateSize(path)
	if err != nil {
		return nil, err
	}
	if size != keySize {
		return nil, fmt.Errorf("has %d bytes instead of %d; restore it, or remove it and give up the secrets that were sealed with it", size, keySize)
	}
	return os.ReadFile(path)
}

// create creates a key file.
func create(path string) ([]byte, error) {
	var key [keySize]byte
	_, _ = rand.Read(key[:]) // never fails
	if err := atomicfile.CreatePrivate(path, key[:]); err != nil {
		return nil, err
	}
	return key[:], nil
}
