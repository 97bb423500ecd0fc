package interop

import (
	"bufio"
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/internal/outbound/card"
	"github.com/parley-a2a/parley/internal/secret/signature"
)

// updateVectors stores the cards that the SDKs sign as test vectors of package signature.
var updateVectors = flag.Bool("vectors", false, "write the cards that the SDKs sign into internal/secret/signature/testdata")

// TestSignedCards makes the official SDKs verify cards that Parley has signed, and Parley
// verify theirs. It uses each algorithm, for a plain card and for one in which the forms of
// specification and SDKs differ.
func TestSignedCards(t *testing.T) {
	t.Parallel()
	for _, sdk := range []struct {
		name, dir string
		program   func(*testing.T, string) []string
	}{
		{"python", "python/v1", python("sign.py")},
		{"js", "js", node("sign.mjs")},
	} {
		t.Run(sdk.name, func(t *testing.T) {
			t.Parallel()
			n := startNotary(t, sdk.dir, sdk.program(t, sdk.dir))
			var kept []vector
			for alg, key := range signingKeys(t) {
				for name, doc := range cardsToSign(t) {
					t.Log(alg, name)
					kept = append(kept, n.exchange(t, alg, key, doc))
				}
			}
			if *updateVectors {
				writeVectors(t, sdk.name, kept)
			}
		})
	}
}

// vector is a card that an SDK has signed, with the public key.
type vector struct {
	Algorithm string          `json:"alg"`
	Key       string          `json:"key"`
	Card      json.RawMessage `json:"card"`
}

func writeVectors(t *testing.T, name string, kept []vector) {
	t.Helper()
	text, err := json.MarshalIndent(kept, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join("..", "..", "card", "signature", "testdata", name+".json")
	if err := os.WriteFile(path, append(text, '\n'), 0o600); err != nil {
		t.Fatal(err)
	}
}

// cardsToSign returns card documents as served by a hub.
func cardsToSign(t *testing.T) map[string][]byte {
	t.Helper()
	c := &a2a.AgentCard{
		Name: "Notary", Description: "Signs, and says “done” – 100 %", Version: "1.2.3",
		Skills: []a2a.AgentSkill{{ID: "sign", Name: "Sign", Description: "signs", Tags: []string{"law"}}},
	}
	o := &card.Options{Interfaces: []*a2a.AgentInterface{
		a2a.NewAgentInterface("https://notary.example/a2a", a2a.TransportProtocolJSONRPC),
	}}
	plain, err := card.JSON(c, o)
	if err != nil {
		t.Fatal(err)
	}
	o.SecuritySchemes = a2a.NamedSecuritySchemes{"key": a2a.APIKeySecurityScheme{Location: "header", Name: "X-Api-Key"}}
	o.SecurityRequirements = a2a.SecurityRequirementsOptions{{"key": nil}}
	c.Description, c.Skills = "", nil
	empty, err := card.JSON(c, o)
	if err != nil {
		t.Fatal(err)
	}
	return map[string][]byte{"plain": plain, "with what is empty": empty}
}

func signingKeys(t *testing.T) map[string]crypto.Signer {
	t.Helper()
	ec, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	_, ed, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	rs, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	return map[string]crypto.Signer{"ES256": ec, "EdDSA": ed, "RS256": rs}
}

// notary is a process that signs and verifies with an SDK.
type notary struct {
	in  *json.Encoder
	out *bufio.Scanner
}

func startNotary(t *testing.T, dir string, program []string) *notary {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), program[0], program[1:]...)
	cmd.Dir, cmd.Stderr = dir, os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = in.Close()
		_ = cmd.Wait() // it may have been killed with the context
	})
	lines := bufio.NewScanner(out)
	lines.Buffer(nil, 1<<20)
	return &notary{json.NewEncoder(in), lines}
}

// ask sends an order and reads its result.
func (n *notary) ask(t *testing.T, order map[string]any) (got struct {
	OK    bool            `json:"ok"`
	Error string          `json:"error"`
	Card  json.RawMessage `json:"card"`
},
) {
	t.Helper()
	if err := n.in.Encode(order); err != nil {
		t.Fatal(err)
	}
	if !n.out.Scan() {
		t.Fatalf("the process has ended: %v", n.out.Err())
	}
	if err := json.Unmarshal(n.out.Bytes(), &got); err != nil {
		t.Fatalf("%s: %v", n.out.Bytes(), err)
	}
	return got
}

// exchange signs doc on both sides and verifies it on the other one.
func (n *notary) exchange(t *testing.T, alg string, key crypto.Signer, doc []byte) vector {
	t.Helper()
	private, public := pemOf(t, key)
	verify := func(card []byte) (bool, string) {
		got := n.ask(t, map[string]any{"card": json.RawMessage(card), "verify": map[string]any{"pem": public, "alg": alg}})
		return got.OK, got.Error
	}
	signed, err := signature.Sign(doc, &signature.Signer{Key: key, ID: "k1"})
	if err != nil {
		t.Fatalf("Sign: %v", err)
	}
	if ok, why := verify(signed); !ok {
		t.Errorf("%s: the SDK does not verify what Parley has signed: %s\n%s", alg, why, signed)
	}
	if ok, _ := verify(bytes.Replace(signed, []byte("Notary"), []byte("Notory"), 1)); ok {
		t.Errorf("%s: the SDK verifies what was changed", alg)
	}

	order := map[string]any{"card": json.RawMessage(doc), "sign": map[string]any{"pem": private, "alg": alg, "kid": "k2"}}
	theirs := n.ask(t, order)
	keys, err := signature.ParseKeys([]byte(public))
	if err != nil {
		t.Fatal(err)
	}
	v := &signature.Verifier{Keys: keys}
	if _, err := v.Verify(t.Context(), theirs.Card); err != nil {
		t.Errorf("%s: Parley does not verify what the SDK has signed: %v\n%s", alg, err, theirs.Card)
	}
	changed := strings.Replace(string(theirs.Card), "Notary", "Notory", 1)
	if _, err := v.Verify(t.Context(), []byte(changed)); err == nil {
		t.Errorf("%s: Parley verifies what was changed", alg)
	}
	return vector{alg, public, theirs.Card}
}

func pemOf(t *testing.T, key crypto.Signer) (private, public string) {
	t.Helper()
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	pub, err := x509.MarshalPKIXPublicKey(key.Public())
	if err != nil {
		t.Fatal(err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})),
		string(pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: pub}))
}
