package jcs

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"
)

// TestCanonical has the examples of RFC 8785 (§3.2.2, §3.2.3, appendix B) and frequent mistakes of
// writers.
func TestCanonical(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ in, want string }{
		{
			`{"numbers": [333333333.33333329, 1E30, 4.50, 2e-3, 0.000000000000000000000000001],
			  "string": "\u20ac$\u000F\u000aA'\u0042\u0022\u005c\\\"\/", "literals": [null, true, false]}`,
			`{"literals":[null,true,false],"numbers":[333333333.3333333,1e+30,4.5,0.002,1e-27],` +
				`"string":"€$\u000f\nA'B\"\\\\\"/"}`,
		},
		{
			`{"\u20ac":"Euro Sign","\r":"Carriage Return","\ufb33":"Hebrew Letter Dalet With Dagesh","1":"One",` +
				`"\ud83d\ude00":"Emoji: Grinning Face","\u0080":"Control","\u00f6":"Latin Small Letter O With Diaeresis"}`,
			"{\"\\r\":\"Carriage Return\",\"1\":\"One\",\"\u0080\":\"Control\",\"ö\":\"Latin Small Letter O With Diaeresis\"," +
				"\"€\":\"Euro Sign\",\"😀\":\"Emoji: Grinning Face\",\"\ufb33\":\"Hebrew Letter Dalet With Dagesh\"}",
		},
		{
			`[-0, 0.0, -0e5, 1e21, 1e20, 999999999999999900000, 1e-6, 1e-7, 9007199254740993]`,
			`[0,0,0,1e+21,100000000000000000000,999999999999999900000,0.000001,1e-7,9007199254740992]`,
		},
		{
			`[5e-324, 1.7976931348623157e308, -1.5, 295147905179352830000]`,
			`[5e-324,1.7976931348623157e+308,-1.5,295147905179352830000]`,
		},
		{"\"<>&\\u2028\\u007f\\u0001\\b\\t\\f\"", "\"<>&\u2028\u007f\\u0001\\b\\t\\f\""},
		{" {} ", "{}"},
		{"[ ]", "[]"},
		{" true\n", "true"},
	} {
		got, err := Canonical([]byte(tc.in))
		if err != nil {
			t.Errorf("Canonical(%s): %v", tc.in, err)
		}
		if diff := cmp.Diff(tc.want, string(got)); diff != "" {
			t.Errorf("Canonical(%s) (-want +got):\n%s", tc.in, diff)
		}
	}
}

func TestNotCanonical(t *testing.T) {
	t.Parallel()
	var syntax *jsontext.SyntacticError
	for in, want := range map[string]error{
		`{"a":1,"b":{"c":1,"\u0063":2}}`: jsontext.ErrDuplicateName,
		`[1e999]`:                        ErrNumber,
		`{"a":1}x`:                       nil,
		`"\ud800"`:                       nil,
		"\"\xff\"":                       nil,
		`{"a":}`:                         nil,
		``:                               nil,
		strings.Repeat("[", 10_001) + strings.Repeat("]", 10_001): nil,
	} {
		got, err := Canonical([]byte(in))
		if want == nil && !errors.As(err, &syntax) || want != nil && !errors.Is(err, want) {
			t.Errorf("Canonical(%q) = %q, %v, want %v", in, got, err, want)
		}
	}
}

func FuzzCanonical(f *testing.F) {
	f.Add([]byte(`{"b":[1,2.50,"x\u00e9"],"a":{"":null}}`))
	f.Fuzz(func(t *testing.T, in []byte) {
		got, err := Canonical(in)
		if err != nil {
			return
		}
		again, err := Canonical(got)
		if err != nil || !bytes.Equal(got, again) {
			t.Fatalf("canonical %q became %q, %v", got, again, err)
		}
		var want, is any
		if err := json.Unmarshal(in, &want); err != nil {
			t.Fatalf("%q is not JSON: %v", in, err)
		}
		if err := json.Unmarshal(got, &is); err != nil {
			t.Fatalf("%q became %q: %v", in, got, err)
		}
		if diff := cmp.Diff(want, is); diff != "" {
			t.Errorf("%q became %q (-want +got):\n%s", in, got, diff)
		}
	})
}
