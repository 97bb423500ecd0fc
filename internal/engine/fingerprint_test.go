package engine

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/parley-a2a/parley/internal/json/rawjson"
	"github.com/parley-a2a/parley/internal/op"
)

func printOf(body, metadata string, active ...string) []byte {
	r := &op.Send{Message: op.Message{Body: []byte(body)}, Metadata: []byte(metadata)}
	return fingerprint("main", r, active)
}

func TestFingerprintIgnores(t *testing.T) {
	t.Parallel()
	want := printOf(`{"messageId":"1","role":"ROLE_USER","parts":[{"text":"ä","x":{"b":1,"a":[true,null]}}]}`, `{"b":{},"a":"\/"}`, "u", "v")
	got := printOf(`{"parts":[{"x":{"a":[true,null],"b":1},"text":"\u00e4"}],"messageId":"2","role":"ROLE_USER"}`, `{"a":"/","b":{}}`, "v", "u")
	if !bytes.Equal(got, want) {
		t.Error("the same request has two fingerprints")
	}
}

func TestFingerprintDistinguishes(t *testing.T) {
	t.Parallel()
	seen := map[string]int{}
	for i, p := range [][]byte{
		printOf(`{"a":1}`, ""),
		printOf(`{"a":1.0}`, ""),
		printOf(`{"a":"1"}`, ""),
		printOf(`{"a":[1]}`, ""),
		printOf(`{"a":{"messageId":"x"}}`, ""),
		printOf(`{"a":{"messageId":"y"}}`, ""),
		printOf(`{"a":1,"a":2}`, ""),
		printOf(`{"a":2,"a":1}`, ""),
		printOf(`{"a":9007199254740993}`, ""),
		printOf(`{"a":9007199254740992}`, ""),
		printOf(`{}`, `{"a":1}`),
		printOf(`{"a":1}`, `{}`),
		printOf(`{}`, "", "a"),
		printOf(`{}`, "", "a", "b"),
		printOf(`{}`, "", "ab"),
		printOf(`{"a":["b","c"]}`, ""),
		printOf(`{"a":["c","b"]}`, ""),
		fingerprint("other", &op.Send{Message: op.Message{Body: []byte(`{"a":1}`)}}, nil),
		fingerprint("main", &op.Send{Message: op.Message{Body: []byte(`{"a":1}`)}, Push: &op.PushConfig{Token: "x"}}, nil),
		fingerprint("main", &op.Send{Message: op.Message{Body: []byte(`{"a":1}`)}, Push: &op.PushConfig{Credentials: "x"}}, nil),
	} {
		if j, there := seen[string(p)]; there {
			t.Errorf("requests %d and %d have the same fingerprint", j, i)
		}
		seen[string(p)] = i
	}
}

// The result of sorting is the same for every order of the members, and has the same content.
func FuzzAppendSorted(f *testing.F) {
	for _, s := range []string{`{"b":1,"a":[{"y":null,"x":"\u00e4"}]}`, `[]`, `"\n"`, `{"":{}}`, `-1e400`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		if rawjson.Check(in, 100) != nil {
			return
		}
		once := appendSorted(nil, in)
		// Each list in it ends with a comma, so it is not JSON; encoding/json sorts, too.
		d := json.NewDecoder(bytes.NewReader(in))
		d.UseNumber()
		var v any
		if err := d.Decode(&v); err != nil {
			return
		}
		sorted, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		again, err := json.Marshal(mustDecode(t, sorted))
		if err != nil {
			t.Fatal(err)
		}
		if a, b := appendSorted(nil, sorted), appendSorted(nil, again); !bytes.Equal(a, b) {
			t.Errorf("%s is sorted in two ways: %s and %s", in, a, b)
		}
		if !hasTwins(in) && !bytes.Equal(once, appendSorted(nil, sorted)) {
			t.Errorf("%s is sorted as %s, its sorted form as %s", in, once, appendSorted(nil, sorted))
		}
	})
}

func mustDecode(t *testing.T, b []byte) any {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader(b))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		t.Fatal(err)
	}
	return v
}

// hasTwins reports whether an object in b has two members of the same name. encoding/json keeps
// only the last of them.
func hasTwins(b []byte) bool {
	seen := map[string]bool{}
	for name, v := range rawjson.Fields(b) {
		if seen[name] || hasTwins(v) {
			return true
		}
		seen[name] = true
	}
	for e := range rawjson.Elements(b) {
		if hasTwins(e) {
			return true
		}
	}
	return false
}
