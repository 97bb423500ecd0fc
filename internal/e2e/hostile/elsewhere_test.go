package hostile

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/parley-a2a/parley/internal/secret/signature"
	"github.com/parley-a2a/parley/internal/testing/tokentest"
)

// elsewhere is a server of remote agents, some of them the attacker's.
type elsewhere struct {
	*httptest.Server

	trusted, stranger *tokentest.Issuer
	mu                sync.Mutex // guards the field below
	asked             map[string]int
}

func newElsewhere(t *testing.T) *elsewhere {
	t.Helper()
	e := &elsewhere{
		trusted:  &tokentest.Issuer{KID: "partner", Key: tokentest.NewKey(t)},
		stranger: &tokentest.Issuer{KID: "partner", Key: tokentest.NewKey(t)},
		asked:    make(map[string]int),
	}
	e.Server = httptest.NewServer(e)
	t.Cleanup(e.Close)
	return e
}

// ServeHTTP serves the card of the agent named by the first segment of the path.
func (e *elsewhere) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	name, rest, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	e.mu.Lock()
	e.asked[r.URL.Path]++
	e.mu.Unlock()
	switch {
	case name == "evil-keys":
		set, err := signature.JWKS(&signature.Signer{Key: e.stranger.Key, ID: e.stranger.KID})
		if err != nil {
			panic(err)
		}
		_, _ = w.Write(set)
	case name == "away":
		http.Redirect(w, r, "http://169.254.169.254/latest/meta-data/", http.StatusFound)
	case !strings.HasPrefix(rest, ".well-known/"):
		http.NotFound(w, r)
	case name == "endless":
		for range 64 {
			_, _ = w.Write(bytes.Repeat([]byte(" "), 64<<10))
		}
	default:
		_, _ = w.Write(e.card(name))
	}
}

// times returns the number of requests for a path.
func (e *elsewhere) times(path string) int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.asked[path]
}

// card returns a signed card with the change that the agent's name describes.
func (e *elsewhere) card(name string) []byte {
	doc := fmt.Sprintf(`{"name":%q,"description":"a peer","version":"1.0.0","capabilities":{},`+
		`"defaultInputModes":["text/plain"],"defaultOutputModes":["text/plain"],`+
		`"supportedInterfaces":[{"url":"%s/%s","protocolBinding":"JSONRPC","protocolVersion":"1.0"}],`+
		`"skills":[{"id":"s","name":"s","description":"s","tags":["t"]}]}`, name, e.URL, name)
	signer := &signature.Signer{Key: e.trusted.Key, ID: e.trusted.KID}
	switch name {
	case "unsigned":
		return []byte(doc)
	case "by-a-stranger":
		signer.Key = e.stranger.Key
	case "keys-elsewhere":
		signer = &signature.Signer{Key: e.stranger.Key, ID: e.stranger.KID, KeysURL: e.URL + "/evil-keys"}
	case "keys-of-another":
		signer = &signature.Signer{Key: e.stranger.Key, ID: "other", KeysURL: "https://keys.example.evil.example/jwks.json"}
	}
	signed, err := signature.Sign([]byte(doc), signer)
	if err != nil {
		panic(err)
	}
	text := string(signed)
	switch name {
	case "changed-by-a-byte":
		text = strings.ReplaceAll(text, `"a peer"`, `"a pear"`)
	case "address-changed":
		text = strings.ReplaceAll(text, e.URL+"/address-changed", "http://127.0.0.1:1/address-changed")
	case "signature-changed":
		text = flip(text, `"signature":"`)
	case "header-changed":
		text = flip(text, `"protected":"`)
	case "named-twice":
		text = `{"name":"trusted bank",` + text[1:]
	}
	return []byte(text)
}

// flip changes the character after each mark.
func flip(text, mark string) string {
	parts := strings.Split(text, mark)
	for i := 1; i < len(parts); i++ {
		b := []byte(parts[i])
		if b[9] == 'A' {
			b[9] = 'B'
		} else {
			b[9] = 'A'
		}
		parts[i] = string(b)
	}
	return strings.Join(parts, mark)
}

func pemOf(t *testing.T, key *ecdsa.PrivateKey) []byte {
	t.Helper()
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})
}
