package a2ajson_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"strings"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/internal/json/a2ajson"
	"github.com/parley-a2a/parley/internal/json/rawjson"
)

var seeds = []string{
	`{"messageId":"m","role":"ROLE_USER","parts":[{"text":"hi"}]}`,
	`{ "message_id":"m","role":1,"parts":[{"raw":"_-8","media_type":"a/b"},{"data":null},{"url":"u"}],"x":{"a":1.10} }`,
	`{"artifactId":"a","parts":[{"data":[1,{"b":2}],"metadata":{"k":"v"}}],"extensions":["e"],"name":"n"}`,
	`{"messageId":"m","Role":2,"parts":[{"text":"hi","TEXT":5}]}`,
	`{"messageId":"m","role":2,"parts":[],"metadata":{"a":1,"a":2},"referenceTaskIds":[null]}`,
}

// checkCanonical checks the guarantees of every canonical object.
func checkCanonical(t *testing.T, out []byte, again func([]byte) ([]byte, error)) {
	t.Helper()
	if err := rawjson.Check(out, a2ajson.DefaultMaxDepth); err != nil {
		t.Fatalf("output %s is not valid: %v", out, err)
	}
	if bytes.ContainsAny(out, "\r\n") {
		t.Errorf("output %q is not one line", out)
	}
	twice, err := again(out)
	if err != nil || !bytes.Equal(twice, out) {
		t.Errorf("canonical twice: %s, then %s, %v", out, twice, err)
	}
}

// sdkRefuses reports whether the SDK's decoder refuses out although the protocol allows it: a
// part whose data is null, or a number beyond float64.
func sdkRefuses(out []byte, err error) bool {
	return bytes.Contains(out, []byte(`"data":null`)) ||
		strings.Contains(err.Error(), "cannot unmarshal number")
}

func FuzzMessage(f *testing.F) {
	for _, s := range seeds {
		f.Add([]byte(s), false)
		f.Add([]byte(s), true)
	}
	f.Fuzz(func(t *testing.T, in []byte, fill bool) {
		o := a2ajson.Options{Fill: fill, EmptyParts: fill, OmitIDs: fill}
		out, facts, err := a2ajson.Message(nil, in, o)
		if err != nil {
			return
		}
		checkCanonical(t, out, func(b []byte) ([]byte, error) {
			b, _, err := a2ajson.Message(nil, b, a2ajson.Options{EmptyParts: fill})
			return b, err
		})
		var m a2a.Message
		if err := json.Unmarshal(out, &m); err != nil {
			if sdkRefuses(out, err) {
				return
			}
			t.Fatalf("SDK refuses %s: %v", out, err)
		}
		if m.ID != facts.ID || m.Role != facts.Role || len(m.Parts) != len(facts.MediaTypes) {
			t.Errorf("SDK reads %+v of %s, want %+v", m, out, facts)
		}
	})
}

func FuzzArtifact(f *testing.F) {
	for _, s := range seeds {
		f.Add([]byte(s), false)
	}
	f.Fuzz(func(t *testing.T, in []byte, fill bool) {
		out, facts, err := a2ajson.Artifact(nil, in, a2ajson.Options{Fill: fill, EmptyParts: fill})
		if err != nil {
			return
		}
		checkCanonical(t, out, func(b []byte) ([]byte, error) {
			b, _, err := a2ajson.Artifact(nil, b, a2ajson.Options{EmptyParts: fill})
			return b, err
		})
		var a a2a.Artifact
		if err := json.Unmarshal(out, &a); err != nil {
			if sdkRefuses(out, err) {
				return
			}
			t.Fatalf("SDK refuses %s: %v", out, err)
		}
		if string(a.ID) != facts.ID || len(a.Parts) != len(facts.MediaTypes) {
			t.Errorf("SDK reads %+v of %s, want %+v", a, out, facts)
		}
	})
}

// FuzzRaw compares the reading of base64, which never decodes, with the standard
// library's.
func FuzzRaw(f *testing.F) {
	for _, s := range []string{"", "+/8=", "-_8", "YQ==", "YQ", "Y", "Y===", "a b"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		in := rawjson.AppendString([]byte(`{"artifactId":"a","parts":[{"raw":`), s)
		out, _, err := a2ajson.Artifact(nil, append(in, `}]}`...), a2ajson.Options{})
		if strings.ContainsAny(s, "\r\n") || strings.ContainsRune(s, '\ufffd') {
			return
		}
		standard := strings.NewReplacer("-", "+", "_", "/").Replace(s)
		encoding := base64.StdEncoding
		if !strings.HasSuffix(s, "=") {
			encoding = base64.RawStdEncoding
		}
		want, wantErr := encoding.DecodeString(standard)
		if (err == nil) != (wantErr == nil) {
			t.Fatalf("raw %q: %v, standard library: %v", s, err, wantErr)
		}
		if err != nil {
			return
		}
		var a a2a.Artifact
		if err := json.Unmarshal(out, &a); err != nil || !bytes.Equal(a.Parts[0].Raw(), want) {
			t.Errorf("raw %q became %s, %v, want %x", s, out, err, want)
		}
	})
}
