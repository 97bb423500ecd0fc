package bus

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"regexp"
	"testing"
)

// spellings are texts that decoders disagree about.
var spellings = []string{
	`{"v":2,"id":"1","type":"t","time":1,"source":"s"}`,
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

// FuzzDecode: an envelope has the same signed form after it was encoded and decoded again.
func FuzzDecode(f *testing.F) {
	for _, text := range spellings {
		f.Add([]byte(text))
	}
	document, err := os.ReadFile("../../docs/wire.md")
	if err != nil {
		f.Fatal(err)
	}
	for _, m := range regexp.MustCompile("(?s)\n```json\n(.*?)\n```\n").FindAllSubmatch(document, -1) {
		f.Add(m[1])
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		e, err := decode(text)
		if err != nil {
			return
		}
		form, err := e.form()
		if err != nil {
			return
		}
		sent, err := e.encode()
		if err != nil {
			t.Fatalf("encode %q: %v", text, err)
		}
		got, err := decode(sent)
		if err != nil {
			t.Fatalf("decode %q: %v", sent, err)
		}
		if again, err := got.form(); err != nil || !bytes.Equal(again, form) {
			t.Errorf("the form of %q is %q, and that of its copy %q, %v", text, form, again, err)
		}
	})
}

func TestEncodeRefusesABrokenBody(t *testing.T) {
	t.Parallel()
	e := full(t, "h1")
	e.Body = json.RawMessage(`{"a":`)
	if _, err := e.Encode(); !errors.Is(err, ErrInvalid) {
		t.Errorf("Encode = %v, want ErrInvalid", err)
	}
}
