package cli

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/google/go-cmp/cmp"
	yamlv3 "go.yaml.in/yaml/v3"
)

// TestYAML: every text is the same text when another reader of YAML has read it, as a value and as a name.
func TestYAML(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"", "plain", "yes", "null", "~", "1e3", "0x10", "1:30", ".inf", "2026-01-01", "a\nb", "line\n", "\n\n", " x ", "\ttab", "a\r\nb",
		"- x", "a: b", "a #b", "#c", "'q'", `"d"`, `a\b`, "%x", "@a", "`", "!t", "&a", "*a", "[", "{", "<<", "---", "a\n---\nb", "...",
		"\x01\x1b[2J", "\u0085", "\u2028", "\ufeffb", "😀",
	} {
		want := map[string]any{"value": text, "list": []any{text, map[string]any{"in": text}}}
		var b bytes.Buffer
		if err := (&format{Output: "yaml"}).encode(&b, want); err != nil {
			t.Errorf("%q: %v", text, err)
			continue
		}
		var got map[string]any
		if err := yaml.Unmarshal(b.Bytes(), &got); err != nil {
			t.Errorf("%q: %v in %q", text, err, b.Bytes())
		} else if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%q in %q (-want +got):\n%s", text, b.Bytes(), diff)
		}
		b.Reset()
		if err := (&format{Output: "yaml"}).encode(&b, map[string]any{text: text}); err != nil {
			t.Errorf("%q: %v", text, err)
			continue
		}
		got = nil
		if err := yamlv3.Unmarshal(b.Bytes(), &got); err != nil || got[text] != text {
			t.Errorf("name %q: %v, %v in %q", text, got, err, b.Bytes())
		}
	}
}

// TestYAMLDocument: names keep their order and numbers their digits.
func TestYAMLDocument(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	raw := json.RawMessage(`{"z":1,"a":[{"x":12345678901234567890,"f":1.5e300},[],{}],"n":null,"t":true,"s":"\ud83d\ude00 <"}`)
	if err := (&format{Output: "yaml"}).received(&OS{Stdout: &b}, raw); err != nil {
		t.Fatal(err)
	}
	want := `---
z: 1
a:
  - x: 12345678901234567890
    f: 1.5e300
  - []
  - {}
n: null
t: true
s: "\U0001F600 <"
`
	if diff := cmp.Diff(want, b.String()); diff != "" {
		t.Errorf("YAML (-want +got):\n%s", diff)
	}
}
