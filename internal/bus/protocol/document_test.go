package protocol_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"os"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/parley-a2a/parley/internal/bus"
	"github.com/parley-a2a/parley/internal/bus/protocol"
)

// document is the published contract.
const document = "../../../docs/wire.md"

// fenced is a block of JSON in Markdown.
var fenced = regexp.MustCompile("(?s)\n```json\n(.*?)\n```\n")

func readDocument(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(document)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// examples returns the blocks of JSON in the document.
func examples(t *testing.T) [][]byte {
	t.Helper()
	var found [][]byte
	for _, m := range fenced.FindAllStringSubmatch(readDocument(t), -1) {
		found = append(found, []byte(m[1]))
	}
	return found
}

// signer is the hub of the examples. Its private key is in the document.
func signer(t *testing.T) *bus.Signer {
	t.Helper()
	seed := make([]byte, 32)
	for i := range seed {
		seed[i] = byte(i)
	}
	s, err := bus.NewSigner("7c1e", seed)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// Each example is valid, is decoded without an unknown member, and has the same meaning when
// encoded again. There is one for each type.
func TestExamplesOfTheDocument(t *testing.T) {
	t.Parallel()
	s := compiled(t)
	seen := map[bus.Type]bool{}
	for _, text := range examples(t) {
		e, err := bus.Decode(text)
		if err != nil {
			t.Errorf("%v:\n%s", err, text)
			continue
		}
		seen[e.Type] = true
		if err := validate(t, s, text); err != nil {
			t.Errorf("the schema refuses the example of %s: %v", e.Type, err)
		}
		if bodies[e.Type] == nil {
			t.Errorf("an example has the type %q, which is unknown", e.Type)
			continue
		}
		sameAgain(t, text, new(bus.Envelope))
		if len(e.Body) > 0 {
			sameAgain(t, e.Body, reflect.New(bodies[e.Type]).Interface())
		}
	}
	for typ := range bodies {
		if !seen[typ] {
			t.Errorf("%s has no example of %s", document, typ)
		}
	}
}

// sameAgain decodes text into v and encodes that.
func sameAgain(t *testing.T, text []byte, v any) {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(v); err != nil {
		t.Errorf("decode as %T: %v:\n%s", v, err, text)
		return
	}
	again, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(anyJSON(t, text), anyJSON(t, again)); diff != "" {
		t.Errorf("example as %T (-document +encoded again):\n%s", v, diff)
	}
}

func anyJSON(t *testing.T, text []byte) any {
	t.Helper()
	var v any
	if err := json.Unmarshal(text, &v); err != nil {
		t.Fatal(err)
	}
	return v
}

// The envelopes from hub to worker in the document are signed by the hub of the document, so
// that authors of workers can test their verification. The failure message of this test
// contains the right signature.
func TestSignaturesOfTheDocument(t *testing.T) {
	t.Parallel()
	s := signer(t)
	keys, err := bus.NewKeyring(s.HubKey())
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, text := range examples(t) {
		e, err := bus.Decode(text)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.HasPrefix(e.Source, "hub/") || !strings.HasPrefix(string(e.Type), "job.") {
			continue
		}
		n++
		if err := keys.Verify(e); err != nil {
			want := *e
			if err := s.Sign(&want); err != nil {
				t.Fatal(err)
			}
			t.Errorf("%v: the signature is\n{\"key\": %q, \"value\": %q}", err, want.Signature.Key, base64.StdEncoding.EncodeToString(want.Signature.Value))
		}
	}
	if n < 7 {
		t.Errorf("%d examples are signed, want those of all that hubs say to workers", n)
	}
	for _, want := range []string{s.HubKey().String(), s.HubKey().ID()} {
		if !strings.Contains(readDocument(t), want) {
			t.Errorf("%s does not mention %s", document, want)
		}
	}
}

// The numbers in the document are those of the code.
func TestNumbersOfTheDocument(t *testing.T) {
	t.Parallel()
	text := readDocument(t)
	for what, want := range map[string]string{
		"the lease":              "| " + protocol.Lease.String() + " |",
		"between two heartbeats": "| " + protocol.HeartbeatInterval.String() + " |",
		"announcements":          "| 2 min |",
		"MaxDeliveries":          "| 5 |",
		"MaxEnvelope":            "| 960 KiB |",
		"MaxPiece":               "| 512 KiB |",
		"MaxLarge":               "| 64 MiB |",
		"MaxName":                "| 200 bytes |",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("%s does not say %q of %s", document, want, what)
		}
	}
	if protocol.AnnounceInterval.Minutes() != 2 || bus.MaxDeliveries != 5 || bus.MaxEnvelope != 960<<10 || protocol.MaxPiece != 512<<10 || protocol.MaxLarge != 64<<20 || bus.MaxName != 200 {
		t.Error("a number has changed: change the document and this test")
	}
}
