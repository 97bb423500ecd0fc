package rawjson_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/parley-a2a/parley/internal/json/rawjson"
)

const sample = `{"messageId":"m-1","role":"ROLE_USER","parts":[{"text":"a \"quoted\" line\n"},` +
	`{"data":{"n":12345678901234567890,"f":1.50,"x":[1,{"y":null}]}}],"metadata":{"k":"v"},"other":true}`

func TestCheckAccepts(t *testing.T) {
	t.Parallel()
	for _, in := range []string{
		`null`, `true`, `false`, `0`, `-0`, `-1.5e+10`, `1E5`, `""`, `"é\u00e9\ud83d\ude00"`,
		`[]`, `{}`, ` [ 1 , 2 ] `, "\t{\"a\"\r:\n1}", `[[[[[[]]]]]]`, sample, `"exactly 8 bytes 16"`,
	} {
		if err := rawjson.Check([]byte(in), 6); err != nil {
			t.Errorf("Check(%s) = %v, want nil", in, err)
		}
	}
}

func TestCheckRefuses(t *testing.T) {
	t.Parallel()
	tests := []struct {
		in      string
		offset  int64
		problem string // empty if it is one of jsontext
	}{
		{``, 0, "unexpected end"},
		{`  `, 2, "unexpected end"},
		{`{`, 1, "unexpected end"},
		{`{"a"`, 4, "unexpected end"},
		{`{"a":`, 5, "unexpected end"},
		{`{"a":1`, 6, "unexpected end"},
		{`{"a":1,}`, 7, ""},
		{`{a:1}`, 1, ""},
		{`{"a" 1}`, 5, ""},
		{`{"a":1 "b":2}`, 7, ""},
		{`[1 2]`, 3, ""},
		{`[1,]`, 3, ""},
		{`[`, 1, "unexpected end"},
		{`"abc`, 4, "unexpected end"},
		{"\"a\nb\"", 2, ""},
		{"\"0123456789\x00\"", 11, ""},
		{`"\x"`, 1, ""},
		{`"\u12g4"`, 1, ""},
		{`"\ud800"`, 1, ""},
		{`"\ud800\u0041"`, 1, ""},
		{`"\udc00\ud800"`, 1, ""},
		{"\"\xff\"", 1, ""},
		{"\"\xed\xa0\x80\"", 1, ""},
		{"\"a\xc3", 3, "unexpected end"},
		{`01`, 1, "unexpected data after the value"},
		{`1.`, 2, "unexpected end"},
		{`1.x`, 2, ""},
		{`-`, 1, "unexpected end"},
		{`+1`, 0, ""},
		{`1e`, 2, "unexpected end"},
		{`nul`, 3, "unexpected end"},
		{`nulL`, 3, ""},
		{`trues`, 4, "unexpected data after the value"},
		{`{} {}`, 3, "unexpected data after the value"},
		{"\ufeff{}", 0, ""},
		{`[[[[0]]]]`, 3, "nested too deep"},
		{`{"a":{"b":{"c":{}}}}`, 15, "nested too deep"},
	}
	for _, tt := range tests {
		err := rawjson.Check([]byte(tt.in), 3)
		var got *rawjson.SyntaxError
		if !errors.As(err, &got) {
			t.Errorf("Check(%q) = %v, want a SyntaxError", tt.in, err)
			continue
		}
		if got.Offset != tt.offset || tt.problem != "" && got.Problem != tt.problem {
			t.Errorf("Check(%q) = %v, want offset %d %s", tt.in, got, tt.offset, tt.problem)
		}
	}
}

func TestSyntaxErrorText(t *testing.T) {
	t.Parallel()
	err := rawjson.Check([]byte(`[1,]`), 1)
	if got, want := err.Error(), "invalid JSON: invalid character ']' at start of value at byte 3"; got != want {
		t.Errorf("Error() = %q, want %q", got, want)
	}
}

func TestFields(t *testing.T) {
	t.Parallel()
	type field struct{ Name, Value string }
	tests := []struct {
		in   string
		want []field
	}{
		{`{}`, nil},
		{` { } `, nil},
		{`[1]`, nil},
		{`{"a":1}`, []field{{"a", "1"}}},
		{
			" { \"a\\u0062\" : [ 1 , {\"]\":\"}\"} ] , \"url\":\"\\\"\" ,\"n\":-1e5}\n",
			[]field{{"ab", `[ 1 , {"]":"}"} ]`}, {"url", `"\""`}, {"n", "-1e5"}},
		},
		{`{"a":1,"a":null}`, []field{{"a", "1"}, {"a", "null"}}},
		{`{"":""}`, []field{{"", `""`}}},
	}
	for _, tt := range tests {
		var got []field
		for name, value := range rawjson.Fields([]byte(tt.in)) {
			got = append(got, field{name, string(value)})
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("Fields(%s) mismatch (-want +got):\n%s", tt.in, diff)
		}
	}
}

func TestElements(t *testing.T) {
	t.Parallel()
	tests := []struct {
		in   string
		want []string
	}{
		{`[]`, nil},
		{` [ ] `, nil},
		{`{"a":1}`, nil},
		{`[1]`, []string{"1"}},
		{` [ "a,]" , [ 2 ] ,{"b":[]} , null ] `, []string{`"a,]"`, "[ 2 ]", `{"b":[]}`, "null"}},
	}
	for _, tt := range tests {
		var got []string
		for e := range rawjson.Elements([]byte(tt.in)) {
			got = append(got, string(e))
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("Elements(%s) mismatch (-want +got):\n%s", tt.in, diff)
		}
	}
}

func TestWalkStops(t *testing.T) {
	t.Parallel()
	n := 0
	for range rawjson.Fields([]byte(`{"a":1,"b":2}`)) {
		n++
		break
	}
	for range rawjson.Elements([]byte(`[1,2]`)) {
		n++
		break
	}
	if n != 2 {
		t.Errorf("two loops that break at once ran %d times, want 2", n)
	}
}

func TestKindOf(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]rawjson.Kind{
		"": rawjson.Invalid, " ": rawjson.Invalid, "x": rawjson.Invalid,
		" null": rawjson.Null, "true": rawjson.Bool, "false": rawjson.Bool, "-1": rawjson.Number,
		"7": rawjson.Number, `"a"`: rawjson.Text, "\n[]": rawjson.Array, "\t{}": rawjson.Object,
	} {
		if got := rawjson.KindOf([]byte(in)); got != want {
			t.Errorf("KindOf(%q) = %d, want %d", in, got, want)
		}
	}
}

func TestAppendCompact(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		sample: sample,
		" {\n  \"a b\" : [ 1 ,\t2 ] ,\r\n \"c\\\" d\":\" x \" } ": `{"a b":[1,2],"c\" d":" x "}`,
		" 1.50 ": "1.50",
	} {
		if got := string(rawjson.AppendCompact([]byte("> "), []byte(in))); got != "> "+want {
			t.Errorf("AppendCompact(%q) = %q, want %q", in, got, "> "+want)
		}
	}
}

func TestAppendString(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"":                        `""`,
		"plain":                   `"plain"`,
		"a\"b\\c/":                `"a\"b\\c/"`,
		"\n\r\t\b\f\x00\x1f\x7f":  `"\n\r\t\b\f\u0000\u001f` + "\x7f" + `"`,
		"é<>&\U0001f600":          "\"é<>&\U0001f600\"",
		"a\u2028b\u2029c":         `"a\u2028b\u2029c"`,
		"x\xffy\xc3":              "\"x\ufffdy\ufffd\"",
		"\ufffd stays":            "\"\ufffd stays\"",
		"\xed\xa0\x80 surrogate.": "\"\ufffd\ufffd\ufffd surrogate.\"",
	} {
		if got := string(rawjson.AppendString(nil, in)); got != want {
			t.Errorf("AppendString(%q) = %s, want %s", in, got, want)
		}
	}
}

// TestAppendStringAt tests each place in texts around the eight bytes that are read at a time.
func TestAppendStringAt(t *testing.T) {
	t.Parallel()
	for length := range 20 {
		for at := range length {
			for in, out := range map[string]string{
				"\"": `\"`, "\\": `\\`, "\x1f": `\u001f`, "\x00": `\u0000`, " ": " ", "!": "!", "#": "#", "\x7f": "\x7f",
				"\x80": "\ufffd", "\xff": "\ufffd", "\u00e9": "\u00e9", "\u2028": `\u2028`,
			} {
				before, after := strings.Repeat("a", at), strings.Repeat("b", length-at-1)
				got, want := string(rawjson.AppendString(nil, before+in+after)), `"`+before+out+after+`"`
				if got != want {
					t.Errorf("AppendString(%q) = %s, want %s", before+in+after, got, want)
				}
			}
		}
	}
}

func TestString(t *testing.T) {
	t.Parallel()
	tests := []struct {
		in, want string
		ok       bool
	}{
		{`"a"`, "a", true},
		{` "" `, "", true},
		{`"\"\\\/\b\f\n\r\té\ud83d\ude00é"`, "\"\\/\b\f\n\r\té\U0001f600é", true},
		{`1`, "", false},
		{`"`, "", false},
		{``, "", false},
		{`null`, "", false},
	}
	for _, tt := range tests {
		got, ok := rawjson.String([]byte(tt.in))
		if got != tt.want || ok != tt.ok {
			t.Errorf("String(%s) = %q, %v, want %q, %v", tt.in, got, ok, tt.want, tt.ok)
		}
	}
}

func TestCommonPathAllocatesNothing(t *testing.T) {
	in, dst := []byte(sample), make([]byte, 0, 1024)
	n := testing.AllocsPerRun(100, func() {
		if rawjson.Check(in, 10) != nil {
			t.Error("sample is refused")
		}
		for name, value := range rawjson.Fields(in) {
			if name == "parts" {
				for e := range rawjson.Elements(value) {
					dst = append(dst, e...)
				}
			}
		}
		dst = rawjson.AppendString(rawjson.AppendCompact(dst[:0], in), "plain text")
	})
	// "other" is the only name that the protocol does not define.
	if n > 1 {
		t.Errorf("checking, walking and appending allocates %v times, want at most 1", n)
	}
}

// acceptable is the contract of Check, implemented with encoding/json.
func acceptable(b []byte) bool {
	if !utf8.Valid(b) || !json.Valid(b) {
		return false
	}
	// An unpaired surrogate decodes to U+FFFD.
	if bytes.Contains(bytes.ToLower(b), []byte(`\ufffd`)) || bytes.ContainsRune(b, utf8.RuneError) {
		return rawjson.Check(b, 1<<10) == nil
	}
	return !hasReplacement(b)
}

func hasReplacement(b []byte) bool {
	d := json.NewDecoder(bytes.NewReader(b))
	d.UseNumber()
	for {
		tok, err := d.Token()
		if err != nil {
			return false
		}
		if s, ok := tok.(string); ok && strings.ContainsRune(s, utf8.RuneError) {
			return true
		}
	}
}

func depthOf(b []byte) int {
	deepest, depth := 0, 0
	d := json.NewDecoder(bytes.NewReader(b))
	d.UseNumber()
	for {
		tok, err := d.Token()
		if err != nil {
			return deepest
		}
		switch tok {
		case json.Delim('['), json.Delim('{'):
			depth++
		case json.Delim(']'), json.Delim('}'):
			depth--
		}
		deepest = max(deepest, depth)
	}
}

func seed(f *testing.F) {
	for _, s := range []string{
		sample, `[1,2,{"a":[]}]`, `"\ud800"`, `"\ud83d\ude00\ufffd"`, "\"\xff\"", `-0.0e-0`, ` { "a" : 1 } `,
		`{"a":1,"b":[{"c":"d\"e"}],"a":2}`, `[[[[[[]]]]]]`, `{"`, `[,`, `{"a":}`, `{"a":,"b":1}`, `[1,,2]`,
	} {
		f.Add([]byte(s))
	}
}

func FuzzCheck(f *testing.F) {
	seed(f)
	f.Fuzz(func(t *testing.T, b []byte) {
		err := rawjson.Check(b, 1<<10)
		if got, want := err == nil, acceptable(b); got != want {
			t.Fatalf("Check(%q) = %v, want acceptable %v", b, err, want)
		}
		var se *rawjson.SyntaxError
		if errors.As(err, &se) && (se.Offset < 0 || se.Offset > int64(len(b))) {
			t.Fatalf("Check(%q): offset %d outside of the text", b, se.Offset)
		}
		if err != nil {
			return
		}
		checkDepth(t, b)
		checkCompact(t, b)
	})
}

func checkDepth(t *testing.T, b []byte) {
	depth := depthOf(b)
	if err := rawjson.Check(b, depth); err != nil {
		t.Fatalf("Check(%q, %d) = %v, want nil", b, depth, err)
	}
	if depth > 0 && rawjson.Check(b, depth-1) == nil {
		t.Fatalf("Check(%q, %d) = nil, want too deep", b, depth-1)
	}
}

func checkCompact(t *testing.T, b []byte) {
	var want bytes.Buffer
	if err := json.Compact(&want, b); err != nil {
		t.Fatal(err)
	}
	got := rawjson.AppendCompact(nil, b)
	if !bytes.Equal(got, want.Bytes()) {
		t.Fatalf("AppendCompact(%q) = %q, want %q", b, got, want.Bytes())
	}
}

func FuzzFields(f *testing.F) {
	seed(f)
	f.Fuzz(func(t *testing.T, b []byte) {
		got := map[string]string{}
		for name, value := range rawjson.Fields(b) {
			got[name] = string(value)
		}
		var elements []json.RawMessage
		for e := range rawjson.Elements(b) {
			elements = append(elements, e)
		}
		rawjson.KindOf(b)
		rawjson.String(b)
		rawjson.AppendCompact(nil, b)
		if rawjson.Check(b, 1<<10) != nil {
			return
		}
		switch rawjson.KindOf(b) {
		case rawjson.Object:
			checkFields(t, b, got)
		case rawjson.Array:
			checkElements(t, b, elements)
		case rawjson.Text:
			checkString(t, b)
		}
	})
}

func checkFields(t *testing.T, b []byte, got map[string]string) {
	var raw map[string]json.RawMessage
	if err := json.Unmarshal(b, &raw); err != nil {
		t.Fatal(err)
	}
	want := map[string]string{}
	for k, v := range raw {
		want[k] = string(v)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatalf("Fields(%q) mismatch (-want +got):\n%s", b, diff)
	}
}

func checkElements(t *testing.T, b []byte, got []json.RawMessage) {
	var want []json.RawMessage
	if err := json.Unmarshal(b, &want); err != nil {
		t.Fatal(err)
	}
	if len(want) == 0 {
		want = nil
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatalf("Elements(%q) mismatch (-want +got):\n%s", b, diff)
	}
}

func checkString(t *testing.T, b []byte) {
	var want string
	if err := json.Unmarshal(b, &want); err != nil {
		t.Fatal(err)
	}
	got, ok := rawjson.String(b)
	if !ok || got != want {
		t.Fatalf("String(%q) = %q, %v, want %q", b, got, ok, want)
	}
}

func FuzzAppendString(f *testing.F) {
	for _, s := range []string{"", "a\"\\\n", "\u2028\xff", "\U0001f600\x7f"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		b := rawjson.AppendString(nil, s)
		if err := rawjson.Check(b, 0); err != nil {
			t.Fatalf("AppendString(%q) = %q: %v", s, b, err)
		}
		var want strings.Builder
		for _, r := range s {
			want.WriteRune(r)
		}
		if got, ok := rawjson.String(b); !ok || got != want.String() {
			t.Fatalf("String(AppendString(%q)) = %q, %v, want %q", s, got, ok, want.String())
		}
	})
}

func BenchmarkCheck(b *testing.B) {
	in := []byte(sample)
	b.SetBytes(int64(len(in)))
	b.ReportAllocs()
	for b.Loop() {
		if err := rawjson.Check(in, 100); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkValidStdlib(b *testing.B) {
	in := []byte(sample)
	b.SetBytes(int64(len(in)))
	for b.Loop() {
		if !json.Valid(in) {
			b.Fatal("invalid")
		}
	}
}

func BenchmarkFields(b *testing.B) {
	in := []byte(sample)
	b.SetBytes(int64(len(in)))
	b.ReportAllocs()
	for b.Loop() {
		n := 0
		for range rawjson.Fields(in) {
			n++
		}
		if n != 5 {
			b.Fatalf("got %d fields, want 5", n)
		}
	}
}

func TestAppendFinite(t *testing.T) {
	t.Parallel()
	const most = "1.7976931348623157e+308"
	tests := map[string]string{
		`1e999`:                       most,
		`[-1e999,1e308,1e-999]`:       `[-` + most + `,1e308,1e-999]`,
		`{"1e999":"1e999\"","a":-0}`:  `{"1e999":"1e999\"","a":-0}`,
		`{"a":[1e400 , true],"b":-1}`: `{"a":[` + most + ` , true],"b":-1}`,
		`12345678901234567890.5`:      `12345678901234567890.5`,
	}
	for in, want := range tests {
		if got := string(rawjson.AppendFinite(nil, []byte(in))); got != want {
			t.Errorf("AppendFinite(%s) = %s, want %s", in, got, want)
		}
	}
}

func BenchmarkAppendString(b *testing.B) {
	for name, s := range map[string]string{
		"id": "0199c1b2-7d1c-7a2e-9d3f-000000000000", "word": "text", "text": strings.Repeat("word ", 20),
		"lines": strings.Repeat("a line\n", 15), "Greek": strings.Repeat("λόγος ", 10), "Chinese": strings.Repeat("测试文本", 8),
	} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(s)))
			var dst []byte
			for b.Loop() {
				dst = rawjson.AppendString(dst[:0], s)
			}
		})
	}
}
