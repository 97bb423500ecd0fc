package audit

import (
	"crypto/ed25519"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/parley-a2a/parley/internal/file/atomicfile"
)

// headName is the file that says where a log ends.
const headName = "head.json"

// head is what the file holds, as JSON.
type head struct {
	Log       string `json:"log"`
	Seq       uint64 `json:"seq"`
	Hash      Hash   `json:"hash"`
	At        string `json:"at"`
	Key       string `json:"key"`
	Signature string `json:"signature"`
}

// keyPrefix begins a public key as text.
const keyPrefix = "ed25519:"

// KeyText returns a public key as it stands in a log.
func KeyText(key ed25519.PublicKey) string { return keyPrefix + encode(key) }

// ParseKey reads a public key as KeyText writes it, with white space around it.
func ParseKey(text string) (ed25519.PublicKey, error) {
	digits, ok := strings.CutPrefix(strings.TrimSpace(text), keyPrefix)
	key, err := base64.StdEncoding.Strict().DecodeString(digits)
	if !ok || err != nil || len(key) != ed25519.PublicKeySize {
		return nil, errors.New("is not a public key like " + keyPrefix + "…")
	}
	return key, nil
}

func encode(b []byte) string { return base64.StdEncoding.EncodeToString(b) }

// checkpointText is what is signed in the log: the chain up to the place of the signature.
func checkpointText(id string, p position) []byte {
	return fmt.Appendf(nil, "parley audit checkpoint\n%s\n%d\n%s\n", id, p.seq, p.prev)
}

// text is what is signed in head.json.
func (h *head) text() []byte {
	return fmt.Appendf(nil, "parley audit head\n%s\n%d\n%s\n%s\n", h.Log, h.Seq, h.Hash, h.At)
}

// verify reports whether a signature, as text, is that of a key over a text.
func verify(key ed25519.PublicKey, text []byte, signature string) bool {
	sig, err := base64.StdEncoding.Strict().DecodeString(signature)
	return err == nil && len(key) == ed25519.PublicKeySize && ed25519.Verify(key, text, sig)
}

// writeHead writes where the log ends.
func writeHead(d *disk, m Mark) error {
	h := head{Log: d.id, Seq: m.Seq, Hash: m.Hash, At: time.Now().UTC().Format(timeForm), Key: KeyText(d.key.Public().(ed25519.PublicKey))}
	h.Signature = encode(ed25519.Sign(d.key, h.text()))
	text, err := json.Marshal(&h)
	if err != nil {
		return err
	}
	return atomicfile.Replace(filepath.Join(d.dir, headName), append(text, '\n'), 0o600)
}

// readHead reads where the log in a folder ends; nil if nothing says it.
func readHead(dir string) (*head, error) {
	text, err := os.ReadFile(filepath.Join(dir, headName))
	switch {
	case missing(err):
		return nil, nil
	case err != nil:
		return nil, err
	}
	h := new(head)
	if err := json.Unmarshal(text, h); err != nil {
		return nil, fmt.Errorf("%s is not what the hub has written: %w", headName, err)
	}
	return h, nil
}
