package engine

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/internal/apierror"
	"github.com/parley-a2a/parley/internal/task"
)

// tokens creates page tokens. A token is an encrypted position in a list; it is encrypted
// because it contains the store's own number of a task. It is bound to the caller and the
// filters, so that a token of another list is refused.
type tokens struct {
	block cipher.Block
	mac   []byte
}

const (
	positionSize = aes.BlockSize // a time and a key, eight bytes each
	sumSize      = 16
)

// newTokens returns tokens under key, or under a random key that ends with the process.
func newTokens(key []byte) tokens {
	if key == nil {
		key = make([]byte, sha256.Size)
		_, _ = rand.Read(key) // never fails
	}
	sum := sha256.Sum256(append([]byte("place\x00"), key...))
	block, err := aes.NewCipher(sum[:])
	if err != nil {
		panic("engine: " + err.Error()) // the size is right
	}
	return tokens{block: block, mac: key}
}

// encode returns the token of a position in the list q.
func (t tokens) encode(q *task.Query, c task.Cursor) string {
	b := make([]byte, positionSize, positionSize+sumSize)
	binary.BigEndian.PutUint64(b, uint64(c.At))
	binary.BigEndian.PutUint64(b[8:], uint64(c.Key))
	t.block.Encrypt(b, b) // one block: no two positions look alike, and none reveals its numbers
	return base64.RawURLEncoding.EncodeToString(append(b, t.sum(q, b)...))
}

// decode returns the position of a token of the list q.
func (t tokens) decode(q *task.Query, token string) (task.Cursor, error) {
	if token == "" {
		return task.Cursor{}, nil
	}
	// Each token has exactly one valid text: no line breaks, no unused bits.
	b, err := base64.RawURLEncoding.Strict().DecodeString(token)
	if err != nil || len(b) != positionSize+sumSize || len(token) != base64.RawURLEncoding.EncodedLen(len(b)) || !hmac.Equal(b[positionSize:], t.sum(q, b[:positionSize])) {
		return task.Cursor{}, apierror.Field(a2a.ErrInvalidParams, "pageToken", "is not a page token of this list")
	}
	t.block.Decrypt(b, b[:positionSize])
	return task.Cursor{
		At:  task.Millis(binary.BigEndian.Uint64(b)),
		Key: task.Key(binary.BigEndian.Uint64(b[8:])),
	}, nil
}

// sum binds an encrypted position to the caller and the filters of q.
func (t tokens) sum(q *task.Query, position []byte) []byte {
	h := hmac.New(sha256.New, t.mac)
	h.Write(position)
	for _, s := range []string{string(q.Owner), string(q.Agent), q.ContextID, q.State.String(), q.IDPrefix, q.Text} {
		var size [8]byte
		binary.BigEndian.PutUint64(size[:], uint64(len(s)))
		h.Write(size[:])
		h.Write([]byte(s))
	}
	if q.AllOwners {
		h.Write([]byte("all owners"))
	}
	var since [8]byte
	binary.BigEndian.PutUint64(since[:], uint64(q.Since))
	h.Write(since[:])
	return h.Sum(nil)[:sumSize]
}
