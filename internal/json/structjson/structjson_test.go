package structjson_test

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"github.com/parley-a2a/parley/internal/json/rawjson"
	"github.com/parley-a2a/parley/internal/json/structjson"
)

type inner struct {
	Name string `json:"name"`
	Size int64  `json:"size,omitempty"`
}

type outer struct {
	ID     string            `json:"id"`
	Text   string            `json:"text,omitempty"`
	N      int               `json:"n,omitempty"`
	Yes    bool              `json:"yes"`
	Raw    json.RawMessage   `json:"raw"`
	Raws   []json.RawMessage `json:"raws,omitempty"`
	Texts  []string          `json:"texts"`
	Map    map[string]string `json:"map"`
	Bytes  []byte            `json:"bytes"`
	In     *inner            `json:"in"`
	Inners []inner           `json:"inners,omitempty"`
}

var inners = structjson.Of(
	structjson.Text("name", func(i *inner) *string { return &i.Name }).Always(),
	structjson.Int("size", func(i *inner) *int64 { return &i.Size }),
)

var outers = structjson.Of(
	structjson.Text("id", func(o *outer) *string { return &o.ID }).Always(),
	structjson.Text("text", func(o *outer) *string { return &o.Text }),
	structjson.Int("n", func(o *outer) *int { return &o.N }),
	structjson.Bool("yes", func(o *outer) *bool { return &o.Yes }).Always(),
	structjson.Raw("raw", func(o *outer) *json.RawMessage { return &o.Raw }).Always(),
	structjson.Raws("raws", func(o *outer) *[]json.RawMessage { return &o.Raws }),
	structjson.Texts("texts", func(o *outer) *[]string { return &o.Texts }).Always(),
	structjson.Map("map", func(o *outer) *map[string]string { return &o.Map }).Always(),
	structjson.Bytes("bytes", func(o *outer) *[]byte { return &o.Bytes }).Always(),
	structjson.Struct("in", inners, func(o *outer) **inner { return &o.In }).Always(),
	structjson.Structs("inners", inners, func(o *outer) *[]inner { return &o.Inners }),
)

func encoded(t *testing.T, v any) string {
	t.Helper()
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		t.Fatal(err)
	}
	return strings.TrimSuffix(b.String(), "\n")
}

func TestAppend(t *testing.T) {
	t.Parallel()
	for _, o := range []*outer{
		{},
		{Raw: json.RawMessage(" [ 1.0 ,\n\"<\" ] "), Texts: []string{}, Map: map[string]string{}, Bytes: []byte{}, In: &inner{}, Inners: []inner{}},
		{
			ID: "é\u2028<\x00", Text: "t", N: -7, Yes: true, Raw: json.RawMessage(`{"a":{}}`), Raws: []json.RawMessage{nil, json.RawMessage("1")},
			Texts: []string{"a", ""}, Map: map[string]string{"b": "1", "a": "2", "": "3"}, Bytes: []byte{1, 2}, In: &inner{"n", 1}, Inners: []inner{{}, {"m", -1}},
		},
	} {
		got, ok := outers.Append([]byte("x"), o)
		if want := "x" + encoded(t, o); string(got) != want || !ok {
			t.Errorf("Append = %s, %v\nwant     %s, true", got, ok, want)
		}
	}
}

// Unusual values are reported at every position.
func TestAppendGivesUp(t *testing.T) {
	t.Parallel()
	deep := json.RawMessage(strings.Repeat("[", structjson.MaxDepth+1) + strings.Repeat("]", structjson.MaxDepth+1))
	for name, o := range map[string]*outer{
		"text": {ID: "\xff"}, "name in a map": {Map: map[string]string{"\xff": ""}}, "text in a map": {Map: map[string]string{"": "\xff"}},
		"list": {Texts: []string{"\xff"}}, "empty raw": {Raw: json.RawMessage{}}, "broken raw": {Raw: json.RawMessage("{")}, "deep raw": {Raw: deep},
		"raw that is not UTF-8": {Raw: json.RawMessage("\"\xff\"")}, "raws": {Raws: []json.RawMessage{json.RawMessage("x")}},
		"struct": {In: &inner{Name: "\xff"}}, "structs": {Inners: []inner{{}, {Name: "\xff"}}},
	} {
		if got, ok := outers.Append(nil, o); ok {
			t.Errorf("%s: Append = %s, true; want false", name, got)
		}
	}
}

// readable maps texts to whether they require encoding/json.
var readable = map[string]bool{
	`{}`: true, ` { } `: true, `{"id":"a","unknown":{"id":"b"}}`: true, `{"n":-12,"yes":true,"id":"\u00e9"}`: true,
	`{"raw": {"a" : 1} ,"raws":[ 1 , null],"texts":["a"],"map":{"a":"1","a":"2"},"bytes":"AQI=","in":{"name":"x","more":1},"inners":[{},{"size":1}]}`: true,
	`{"raw":null}`: true, `{"raws":[]}`: true, `{"texts":[],"map":{},"bytes":"","in":{},"inners":[]}`: true, `{"yes":false}`: true,
	`null`: false, `[]`: false, `"x"`: false, `1`: false,
	`{"id":"a","id":"b"}`: false, `{"id":"a","iD":"b"}`: false, `{"ID":"a"}`: false, `{"\u0069d":"a"}`: false, `{"teXtſ":[]}`: false,
	`{"id":null}`: false, `{"id":1}`: false, `{"n":null}`: false, `{"n":1.0}`: false, `{"n":1e1}`: false, `{"n":"1"}`: false,
	`{"n":9223372036854775808}`: false, `{"yes":1}`: false, `{"yes":null}`: false, `{"yes":"true"}`: false, `{"raws":{}}`: false, `{"raws":null}`: false,
	`{"texts":[1]}`: false, `{"texts":[null]}`: false, `{"texts":"a"}`: false, `{"map":[]}`: false, `{"map":{"a":1}}`: false, `{"map":null}`: false,
	`{"bytes":"!"}`: false, `{"bytes":1}`: false, `{"bytes":[1]}`: false, `{"in":null}`: false, `{"in":[]}`: false, `{"in":{"name":1}}`: false,
	`{"inners":[null]}`: false, `{"inners":[{"NAME":"a"}]}`: false, `{"inners":{}}`: false,
}

func TestRead(t *testing.T) {
	t.Parallel()
	for text, want := range readable {
		if got := read(t, []byte(text)); got != want {
			t.Errorf("Read(%s) = %v, want %v", text, got, want)
		}
	}
}

// read fails unless a text that the table reads has the same result as with encoding/json.
func read(t *testing.T, text []byte) bool {
	t.Helper()
	if rawjson.Check(text, structjson.MaxDepth) != nil {
		return false
	}
	got, want := new(outer), new(outer)
	if !outers.Read(text, got) {
		return false
	}
	if err := json.Unmarshal(text, want); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("Read(%s) = %+v\nwant %+v, %v", text, got, want, err)
	}
	return true
}

func FuzzRead(f *testing.F) {
	for text := range readable {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		if !read(t, text) {
			return
		}
		o := new(outer)
		if err := json.Unmarshal(text, o); err != nil {
			t.Fatal(err)
		}
		if got, ok := outers.Append(nil, o); ok && string(got) != encoded(t, o) {
			t.Errorf("Append = %s\nwant     %s", got, encoded(t, o))
		}
	})
}

func TestTooManyMembers(t *testing.T) {
	t.Parallel()
	defer func() {
		if recover() == nil {
			t.Error("a table of 65 members was made")
		}
	}()
	var all []structjson.Member[*inner]
	for i := range 65 {
		all = append(all, structjson.Text(strconv.Itoa(i), func(i *inner) *string { return &i.Name }))
	}
	structjson.Of(all...)
}
