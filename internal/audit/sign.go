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

// headName is the file that records the end of a log.
const headName = "head.json"

// head is the content of the file, as JSON.
type head struct {
	Log       string `json:"log"`
	Seq       uint64 `json:"seq"`
	Hash      Hash   `json:"hash"`
	At        string `json:"at"`
	Key       string `json:"key"`
	Signature string `json:"signature"`
}

// keyPrefix is the prefix of a public key in text form.
const keyPrefix = "ed25519:"

// KeyText returns the text form of a public key in a log.
func KeyText(key ed25519.PublicKey) string { return keyPrefix + encode(key) }

// ParseKey parses a public key in the form of KeyText, with optional white space around it.
func ParseKey(text string) (ed25519.PublicKey, error) {
	digits, ok := strings.CutPrefix(strings.TrimSpace(text), keyPrefix)
	key, err := base64.StdEncoding.Strict().DecodeString(digits)
	if !ok || err != nil || len(key) != ed25519.PublicKeySize {
		return nil, errors.New("is not a public key like " + keyPrefix + "…")
	}
	return key, nil
}

func encode(b []byte) string { return base64.StdEncoding.EncodeToString(b) }

// checkpointText returns the signed text of a signature in the log: the chain up to its
// position.
func checkpointText(id string, p position) []byte {
	return fmt.Appendf(nil, "parley audit checkpoint\n%s\n%d\n%s\n", id, p.seq, p.prev)
}

// text returns the signed text of head.json.
func (h *head) text() []byte {
	return fmt.Appendf(nil, "parley audit head\n%s\n%d\n%s\n%s\n", h.Log, h.Seq, h.Hash, h.At)
}

// verify reports whether signature, as text, is a valid signature of text by a key.
func verify(key ed25519.PublicKey, text []byte, signature string) bool {
	sig, err := base64.StdEncoding.Strict().DecodeString(signature)
	return err == nil && len(key) == ed25519.PublicKeySize && ed25519.Verify(key, text, sig)
}

// writeHead writes the end of the log to head.json.
func writeHead(d *disk, m Mark) error {
	h := head{Log: d.id, Seq: m.Seq, Hash: m.Hash, At: time.Now().UTC().Format(timeForm), Key: KeyText(d.key.Public().(ed25519.PublicKey))}
	h.Signature = encode(ed25519.Sign(d.key, h.text()))
	text, err := json.Marshal(&h)
	if err != nil {
		return err
	}
	return atomicfile.Replace(filepath.Join(d.dir, headName), append(text, '\n'), 0o600)
}

// readHead reads head.json in a folder; nil if there is none.
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
		return nil, fmt.Errorf("%s was not written by the hub: %w", headName, err)
	}
	return h, nil
}
