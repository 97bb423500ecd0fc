package args_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/parley-a2a/parley/internal/llm/args"
)

var fields = args.Fields{
	{Name: "agent_name", Required: true, Max: 10},
	{Name: "colour", Enum: []string{"red", "blue"}},
	{Name: "data", Kind: args.Object},
	{Name: "metadata", Kind: args.Scalars, Reserved: []string{"skill"}},
	{Name: "minutes", Kind: args.Number, Max: 60, Default: 5},
	{Name: "limit", Kind: args.Whole, Min: 1, Max: 9},
	{Name: "done", Kind: args.Flag},
	{Name: "tags", Kind: args.Texts, Max: 5},
}

func TestRead(t *testing.T) {
	t.Parallel()
	got, err := fields.Read([]byte(` {"agent_name":"echo","colour":"red","data":{"n":12345678901234567890},"metadata":{"a":"x","b":1.50,"c":true},
		"minutes":0,"limit":3.0,"done":true,"tags":["a","b"]} `))
	if err != nil {
		t.Fatal(err)
	}
	want := args.Values{
		"agent_name": "echo", "colour": "red", "data": json.RawMessage(`{"n":12345678901234567890}`),
		"metadata": map[string]any{"a": "x", "b": json.Number("1.50"), "c": true}, "minutes": 0.0, "limit": 3.0, "done": true,
		"tags": []string{"a", "b"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("values mismatch (-want +got):\n%s", diff)
	}
	got, err = fields.Read([]byte(`{"agent_name":"echo","minutes":null}`))
	if err != nil || got.Number("minutes", 5) != 5 || got.Text("colour") != "" || got.Flag("done") || got.Object("data") != nil || got.Scalars("metadata") != nil || got.Texts("tags") != nil {
		t.Errorf("left out: %v, %v", got, err)
	}
}

// wrongs are arguments, and the error for each.
var wrongs = []struct{ raw, want string }{
	{``, `"agent_name" is missing`},
	{`null`, `"agent_name" is missing`},
	{"\v{\"agent_name\":\"x\"}", "they are not JSON, because of character 1"},
	{"\u00a0{\"agent_name\":\"x\"}", "they are not JSON, because of character 1"},
	{`{"agent_name":null}`, `"agent_name" must be a string, not null`},
	{`{"agent_name":""}`, `"agent_name" must not be empty`},
	{`{"agent_name":"\u00a0\n"}`, `"agent_name" must not be empty`},
	{`{"agent_name":"elevenchars"}`, `"agent_name" has 11 characters; the maximum is 10`},
	{`{"agent_name":"x","colour":"rde"}`, `"colour" must be one of red, blue, not "rde" (did you mean "red"?)`},
	{`{"agent_name":"x","data":"{\"a\":1}"}`, `"data" must be a JSON object, not a string that holds JSON: leave out the quotes around it`},
	{`{"agent_name":"x","data":"text"}`, `"data" must be a JSON object, not a string`},
	{`{"agent_name":"x","metadata":{"a":null}}`, `has the key "a", which must be a string, a number, true or false, not null`},
	{`{"agent_name":"x","metadata":[1]}`, `"metadata" must be a JSON object of strings, numbers and true or false, not an array`},
	{`{"agent_name":"x","minutes":61}`, `"minutes" must be from 0 to 60, not 61`},
	{`{"agent_name":"x","minutes":1e999}`, `"minutes" is too large a number`},
	{`{"agent_name":"x","minutes":true}`, `"minutes" must be a number, not true`},
	{`{"agent_name":"x","limit":2.5}`, `"limit" must be a whole number`},
	{`{"agent_name":"x","done":1}`, `"done" must be true or false, not a number`},
	{`{"agent_name":"x","tags":"a"}`, `"tags" must be an array of strings, not a string`},
	{`{"agent_name":"x","tags":["a",""]}`, `"tags" has the entry 1, which must not be empty`},
	{`{"agent_name":"x","agentName":"y"}`, `there is no argument "agentName" (did you mean "agent_name"?)`},
	{`{"agent_name":"x","agent_name":"y"}`, `"agent_name" is there twice`},
	{`{"agent_name":"x"`, `because they break off at their end`},
	{`{agent_name:"x"}`, `because of character 2`},
	{`["x"]`, `they are an array`},
	{`"{\"agent_name\":\"x\"}"`, `they are a string that holds JSON`},
	{strings.Repeat("[", 20000) + strings.Repeat("]", 20000), `they are not JSON`},
}

func TestReadRefuses(t *testing.T) {
	t.Parallel()
	for _, tt := range wrongs {
		v, err := fields.Read([]byte(tt.raw))
		if err == nil || !strings.Contains(err.Error(), tt.want) || v != nil {
			t.Errorf("Read(%.60s) = %v, %v\nwant %s", tt.raw, v, err, tt.want)
		}
		if err != nil && len(err.Error()) > 1500 {
			t.Errorf("Read(%.60s): the error has %d bytes", tt.raw, len(err.Error()))
		}
	}
	many := `{"agent_name":"x"`
	for _, name := range []string{"a", "b", "c", "d", "e", "f", "g"} {
		many += `,"` + name + strings.Repeat("x", 1000) + `":1`
	}
	if _, err := fields.Read([]byte(many + "}")); err == nil || !strings.Contains(err.Error(), "2 further arguments are wrong") {
		t.Errorf("seven wrong arguments: %v", err)
	}
}

func TestReadOpen(t *testing.T) {
	t.Parallel()
	v, more, err := fields.ReadOpen([]byte(`{"agent_name":"x","tone":"kind","n":3}`))
	if diff := cmp.Diff(map[string]any{"tone": "kind", "n": json.Number("3")}, more); diff != "" || err != nil || v.Text("agent_name") != "x" {
		t.Errorf("ReadOpen = %v, %v, mismatch (-want +got):\n%s", v, err, diff)
	}
	for raw, want := range map[string]string{
		`{"agent_name":"x","other":{"a":1}}`:     `"other" is a further argument, and must be a string, a number, true or false, not an object`,
		`{"agent_name":"x","meta_data":{"a":1}}`: `there is no argument "meta_data" (did you mean "metadata"?)`,
		`{"other":1}`:                            `"agent_name" is missing`,
	} {
		if _, _, err := fields.ReadOpen([]byte(raw)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("ReadOpen(%s) = %v, want %s", raw, err, want)
		}
	}
}

// compiled returns the schema of fields, and checks that it is valid in draft 2020-12.
func compiled(t testing.TB, raw json.RawMessage) *jsonschema.Schema {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft2020)
	if err := c.AddResource("f.json", doc); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile("f.json")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// withoutNulls returns an object without the members that are null.
func withoutNulls(v any) any {
	m, ok := v.(map[string]any)
	for name, value := range m {
		if value == nil && name != "agent_name" {
			delete(m, name)
		}
	}
	if v == nil || !ok && v == nil {
		return map[string]any{}
	}
	return v
}

// FuzzRead checks that accepted arguments match the schema, and that arguments which do not
// match it are rejected.
func FuzzRead(f *testing.F) {
	for _, tt := range wrongs {
		if len(tt.raw) < 200 {
			f.Add([]byte(tt.raw))
		}
	}
	f.Add([]byte(`{"agent_name":"echo","minutes":0.5,"metadata":{"a":1},"tags":["a"],"data":{}}`))
	schema := compiled(f, fields.Schema())
	open := compiled(f, fields.OpenSchema())
	f.Fuzz(func(t *testing.T, raw []byte) {
		v, err := fields.Read(raw)
		_, _, openErr := fields.ReadOpen(raw)
		doc, bad := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
		if len(bytes.TrimSpace(raw)) == 0 {
			doc, bad = nil, nil
		}
		if bad == nil {
			doc = withoutNulls(doc)
		}
		if err == nil && (bad != nil || schema.Validate(doc) != nil) {
			t.Errorf("Read(%q) = %v, which does not fit the schema: %v", raw, v, schema.Validate(doc))
		}
		if openErr == nil && (bad != nil || open.Validate(doc) != nil) {
			t.Errorf("ReadOpen(%q) does not fit the schema: %v", raw, open.Validate(doc))
		}
		if err != nil && openErr == nil && bad == nil && schema.Validate(doc) == nil {
			t.Errorf("Read(%q) = %v, which fits the schema", raw, err)
		}
		for _, e := range []error{err, openErr} {
			if e != nil && (len(e.Error()) > 4000 || !strings.HasPrefix(e.Error(), "The arguments are not right: ")) {
				t.Errorf("Read(%.100q): the error has %d bytes: %v", raw, len(e.Error()), e)
			}
		}
	})
}
