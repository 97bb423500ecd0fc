package bus

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"os"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/parley-a2a/parley/auth"
	"github.com/parley-a2a/parley/internal/json/rawjson"
)

// anyText generates strings, including invalid UTF-8.
func anyText() *rapid.Generator[string] {
	return rapid.OneOf(
		rapid.SampledFrom([]string{"", "a", "hub/h", "é😀", "<&>", "\u2028\u2029", "\"\\/\b\f\n\r\t\x00\x1f\x7f", "\xff", "a\xffb\xc3", "\xed\xa0\x80", "\ufffd"}),
		rapid.String(),
	)
}

func anyPairs() *rapid.Generator[map[string]string] {
	return rapid.OneOf(rapid.Just(map[string]string(nil)), rapid.MapOfN(anyText(), anyText(), 0, 10))
}

func anyTexts() *rapid.Generator[[]string] {
	return rapid.OneOf(rapid.Just([]string(nil)), rapid.SliceOfN(anyText(), 0, 3))
}

func anyPrincipal() *rapid.Generator[*auth.Principal] {
	return rapid.Custom(func(t *rapid.T) *auth.Principal {
		if rapid.Bool().Draw(t, "nobody") {
			return nil
		}
		return &auth.Principal{
			ID: anyText().Draw(t, "id"), DisplayName: anyText().Draw(t, "name"), Org: anyText().Draw(t, "org"),
			Orgs: anyTexts().Draw(t, "orgs"), Roles: anyTexts().Draw(t, "roles"), Claims: anyPairs().Draw(t, "claims"),
		}
	})
}

// anyBody generates JSON and invalid JSON.
func anyBody() *rapid.Generator[json.RawMessage] {
	return rapid.Custom(func(t *rapid.T) json.RawMessage {
		text := anyValue(3).Draw(t, "body")
		if depth := rapid.SampledFrom([]int{0, 0, 0, 0, 0, 0, 1, maxWalk - 1, maxWalk, 210}).Draw(t, "depth"); depth > 0 {
			text = strings.Repeat(`{"a":[`, depth/2) + text + strings.Repeat(`]}`, depth/2)
		}
		return json.RawMessage(rapid.SampledFrom([]string{"", " ", " ", "x", "{", "\"\xff\"", `"\udc00"`, " " + text + "\n", text, text, text, text}).Draw(t, "text"))
	})
}

func anyEnvelope() *rapid.Generator[*Envelope] {
	return rapid.Custom(func(t *rapid.T) *Envelope {
		text := func(name string) string { return anyText().Draw(t, name) }
		number := func(name string) int64 { return rapid.OneOf(rapid.Just(int64(0)), rapid.Int64()).Draw(t, name) }
		e := &Envelope{
			Version: int(number("v")), ID: "1" + text("id"), Type: Type("t" + text("type")), Source: "s" + text("source"),
			Destination: text("destination"), ReplyTo: text("replyTo"), Correlation: text("correlation"), Task: text("task"),
			Epoch: number("epoch"), Seq: number("seq"), Chain: anyTexts().Draw(t, "chain"), Principal: anyPrincipal().Draw(t, "principal"),
			Label: text("label"), Trace: anyPairs().Draw(t, "trace"), ContentType: text("contentType"), Reason: text("reason"), Queue: text("queue"),
			Body: anyBody().Draw(t, "body"),
		}
		reflect.ValueOf(&e.Time).Elem().SetInt(number("time"))
		reflect.ValueOf(&e.Deadline).Elem().SetInt(number("deadline"))
		reflect.ValueOf(&e.Owner).Elem().SetString(text("owner"))
		if rapid.Bool().Draw(t, "signed") {
			e.Signature = &Signature{Key: text("key"), Value: rapid.OneOf(rapid.Just([]byte(nil)), rapid.SliceOf(rapid.Byte())).Draw(t, "value")}
		}
		return e
	})
}

// encodedByReflection returns the JSON that encoding/json makes of e.
func encodedByReflection(e *Envelope) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	err := enc.Encode(e)
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), err
}

// Encoding without reflection gives the bytes of encoding/json, and the signed form is the form
// of these bytes.
func TestEncodeAsEncodingJSON(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		e := anyEnvelope().Draw(t, "envelope")
		want, wantErr := encodedByReflection(e)
		got, err := e.encode()
		if string(got) != string(want) || !sameError(err, wantErr) {
			t.Fatalf("encode = %s, %v\nwant     %s, %v", got, err, want, wantErr)
		}
		form, err := e.form()
		wantForm, wantErr := e.slowForm()
		if string(form) != string(wantForm) || !sameError(err, wantErr) {
			t.Fatalf("form = %q, %v\nwant   %q, %v", form, err, wantForm, wantErr)
		}
		if wantErr == nil {
			sameDecoded(t, want)
		}
	})
}

// sameError reports whether two errors have the same text.
func sameError(a, b error) bool { return a == b || a != nil && b != nil && a.Error() == b.Error() }

// sameDecoded fails unless text is decoded as encoding/json does it.
func sameDecoded(t interface {
	Helper()
	Fatalf(format string, args ...any)
}, text []byte,
) {
	t.Helper()
	want := new(Envelope)
	wantErr := rawjson.Unmarshal(text, want)
	got, err := decode(text)
	if !reflect.DeepEqual(got, want) || !sameError(err, wantErr) {
		t.Fatalf("decode(%s) = %+v, %v\nwant %+v, %v", text, got, err, want, wantErr)
	}
}

// spellings are texts that decoders disagree about.
var spellings = []string{
	`{"v":1,"id":"1","type":"t","time":1,"source":"s"}`,
	` { "v" : 1 , "body" : { "a" : 1 } , "id":"1" } `,
	`{"id":"1","id":"2"}`, `{"id":"1","ID":"2"}`, `{"Id":"1"}`, `{"\u0069d":"1"}`, `{"\u0069d":"1","id":"2"}`, `{"ſource":"s"}`, `{"tasK":"t"}`,
	`{"id":null}`, `{"id":"1","id":null}`, `{"id":1}`, `{"id":{}}`, `{"v":"1"}`, `{"v":1.0}`, `{"v":1e0}`, `{"v":-0}`, `{"v":9223372036854775808}`,
	`{"time":9223372036854775807}`, `{"epoch":true}`, `{"v":null}`, `{"body":null}`, `{"body":{},"body":[]}`, `{"body":"\ud800"}`, `{"id":"\ud800"}`,
	"{\"id\":\"\xff\"}", "{\"\xff\":1}", `{"chain":[]}`, `{"chain":null}`, `{"chain":["a","b"],"chain":["c"]}`, `{"chain":["a",null]}`, `{"chain":["a",1]}`,
	`{"chain":"a"}`, `{"trace":{}}`, `{"trace":{"a":"1","a":"2"}}`, `{"trace":{"a":"1"},"trace":{"b":"2"}}`, `{"trace":{"a":null}}`, `{"trace":{"a":1}}`, `{"trace":[]}`,
	`{"trace":{"\u0061":"1","a":"2"}}`, `{"principal":{"id":"a","more":{}}}`, `{"principal":{}}`, `{"principal":null}`, `{"principal":[]}`,
	`{"principal":{"id":"a"},"principal":{"org":"o"}}`, `{"principal":{"id":"a","Via":"key"}}`, `{"principal":{"claims":{"k":"v"}}}`,
	`{"signature":{"key":"k","value":"AQID"}}`, `{"signature":{"value":""}}`, `{"signature":{"value":"AQI"}}`, `{"signature":{"value":"AQ\u0049D"}}`,
	`{"signature":{"value":"AQ\nID"}}`, `{"signature":{"value":null}}`, `{"signature":{"value":[1,2]}}`, `{"signature":"k"}`,
	``, ` `, `null`, `[]`, `"x"`, `foo`, `{`, `{"id"}`, `{"id":"1"} x`, `{"id":"1",}`, "\ufeff{}", `{"":1}`, `{"unknown":{"id":"1"}}`,
}

func TestDecodeAsEncodingJSON(t *testing.T) {
	t.Parallel()
	for _, text := range spellings {
		sameDecoded(t, []byte(text))
	}
	for _, n := range []int{10, 190, 210, 9_998, 10_010} {
		sameDecoded(t, []byte(`{"body":`+strings.Repeat("[", n)+strings.Repeat("]", n)+`}`))
	}
}

func FuzzDecode(f *testing.F) {
	for _, text := range spellings {
		f.Add([]byte(text))
	}
	document, err := os.ReadFile("../docs/wire.md")
	if err != nil {
		f.Fatal(err)
	}
	for _, m := range regexp.MustCompile("(?s)\n```json\n(.*?)\n```\n").FindAllSubmatch(document, -1) {
		f.Add(m[1])
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		sameDecoded(t, text)
		e, err := decode(text)
		if err != nil {
			return
		}
		want, wantErr := encodedByReflection(e)
		if got, err := e.encode(); string(got) != string(want) || !sameError(err, wantErr) {
			t.Fatalf("encode = %s, %v\nwant     %s, %v", got, err, want, wantErr)
		}
		form, err := e.form()
		wantForm, wantErr := e.slowForm()
		if string(form) != string(wantForm) || !sameError(err, wantErr) {
			t.Fatalf("form = %q, %v\nwant   %q, %v", form, err, wantForm, wantErr)
		}
	})
}

// Ordinary envelopes of hubs and workers must not need encoding/json.
func TestNothingUnusual(t *testing.T) {
	t.Parallel()
	e := full(t, "h1")
	e.Seq, e.Signature.Value = math.MaxInt64, []byte{1}
	text, ok := envelopes.Append(nil, e)
	if !ok {
		t.Fatal("a full envelope is not written without encoding/json")
	}
	if got := new(Envelope); !envelopes.Read(text, got) || !reflect.DeepEqual(got, travel(t, e)) {
		t.Errorf("%s is not read without encoding/json: %+v", text, got)
	}
	f := canonicalizer{}
	if f.envelope(e); f.fallback {
		t.Error("a full envelope is not signed without encoding/json")
	}
	e.Body = json.RawMessage(`{"a":`)
	if _, err := e.Encode(); !errors.Is(err, ErrInvalid) {
		t.Errorf("Encode with a broken body: %v, want ErrInvalid", err)
	}
}
