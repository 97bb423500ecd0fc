// Package seal keeps secrets at rest: what callers give the hub to be used later,
// such as the credentials of a webhook, is stored sealed with a master key.
//
// A [Box] seals with AES-256-GCM. Whoever seals names a context, such as the address
// that a credential is for; what was sealed for one context does not open in
// another, so that a sealed secret cannot be moved to a row where it would be sent
// elsewhere.
//
// # Guarantees
//
// [Load] makes the key when there is none: 32 random bytes, mode 0600, durable
// before anything is sealed with it. A key file of another size, or one that others
// may read, is refused with an error that says so.
//
// Each sealed text begins with a version and with the id of its key, so that a key
// can be changed later. The id is a hash and tells nothing about the key.
//
// # What it does not promise
//
// Who can read the key file and the database can read the secrets. Nonces are
// random: one key should seal no more than 2^32 texts.
//
// # Concurrency
//
// A Box is immutable.
//
// # Testing
//
// [New] makes a Box with a key that nobody keeps.
package seal

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/parley-a2a/parley/internal/file/atomicfile"
)

// FileName is the name of the key in a data folder.
const FileName = "secret.key"

const (
	keySize = 32
	// version is the first byte of what is sealed.
	version = 1
	idSize  = 4
	// header is what stands before the nonce.
	header = 1 + idSize
)

var (
	// ErrOtherKey: the text was sealed with a key that this Box does not have.
	ErrOtherKey = errors.New("sealed with another key")
	// ErrBroken: the text was changed, cut, or sealed for another context.
	ErrBroken = errors.New("sealed text is broken")
)

// Box seals and opens.
type Box struct {
	key  []byte
	aead cipher.AEAD
	head [header]byte
}

// New returns a Box with a random key that ends with the process.
func New() *Box {
	var key [keySize]byte
	_, _ = rand.Read(key[:]) // never fails
	return newBox(key[:])
}

func newBox(key []byte) *Box {
	block, err := aes.NewCipher(key)
	if err != nil {
		panic("seal: " + err.Error()) // the size is right
	}
	aead, err := cipher.NewGCM(block)
	if err != nil {
		panic("seal: " + err.Error())
	}
	b := &Box{key: key, aead: aead}
	b.head[0] = version
	id := sha256.Sum256(append([]byte("parley key id\x00"), key...))
	copy(b.head[1:], id[:])
	return b
}

// Seal returns plain sealed for context.
func (b *Box) Seal(plain, context []byte) []byte {
	out := make([]byte, header+b.aead.NonceSize(), header+b.aead.NonceSize()+len(plain)+b.aead.Overhead())
	copy(out, b.head[:])
	nonce := out[header:]
	_, _ = rand.Read(nonce) // never fails
	return b.aead.Seal(out, nonce, plain, b.bound(context))
}

// Open returns what was sealed for context. It returns ErrOtherKey or ErrBroken.
func (b *Box) Open(sealed, context []byte) ([]byte, error) {
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

// Key returns a key of 32 bytes for another purpose, which has a name. It tells
// nothing about the master key or the keys of other purposes (RFC 5869).
func (b *Box) Key(purpose string) []byte {
	key, err := hkdf.Key(sha256.New, b.key, nil, purpose, keySize)
	if err != nil {
		panic("seal: " + err.Error()) // the size is right
	}
	return key
}

// bound is the additional data: the header and the context.
func (b *Box) bound(context []byte) []byte {
	return append(b.head[:header:header], context...)
}

// Load returns a Box with the key in the file at path. If there is no file, it is
// made with a new key. Only one process may do so at one time.
func Load(path string) (*Box, error) {
	key, err := read(path)
	if errors.Is(err, fs.ErrNotExist) {
		key, err = create(path)
	}
	if err != nil {
		return nil, fmt.Errorf("master key %s: %w", path, err)
	}
	return newBox(key), nil
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

// create makes a key.
func create(path string) ([]byte, error) {
	var key [keySize]byte
	_, _ = rand.Read(key[:]) // never fails
	if err := atomicfile.CreatePrivate(path, key[:]); err != nil {
		return nil, err
	}
	return key[:], nil
}
