package hubtools

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"
)

// tryArgs have an argument of each kind.
type tryArgs struct {
	Agent    string          `json:"agent_name" max:"10"`
	Colour   string          `json:"colour,omitempty" enum:"red,blue"`
	Data     json.RawMessage `json:"data,omitempty"`
	Metadata scalars         `json:"metadata,omitempty"`
	Minutes  float64         `json:"minutes,omitempty" min:"0" max:"60" default:"5"`
	Limit    whole           `json:"limit,omitempty" min:"1" max:"9"`
	Done     bool            `json:"done,omitempty"`
	Tags     []string        `json:"tags,omitempty" max:"5"`
}

func TestRead(t *testing.T) {
	t.Parallel()
	var got tryArgs
	_, wrong := formOf[tryArgs]().read([]byte(` {"agent_name":"echo","colour":"red","data":{"n":12345678901234567890},"metadata":{"a":"x","b":1.50,"c":true},
		"minutes":0,"limit":3.0,"done":true,"tags":["a","b"]} `), &got)
	if wrong != "" {
		t.Fatal(wrong)
	}
	want := tryArgs{
		Agent: "echo", Colour: "red", Data: json.RawMessage(`{"n":12345678901234567890}`),
		Metadata: scalars{"a": "x", "b": json.Number("1.50"), "c": true}, Limit: 3, Done: true, Tags: []string{"a", "b"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("arguments mismatch (-want +got):\n%s", diff)
	}
	got = tryArgs{}
	_, wrong = formOf[tryArgs]().read([]byte(`{"agent_name":"echo","minutes":null}`), &got)
	if diff := cmp.Diff(tryArgs{Agent: "echo", Minutes: 5}, got); diff != "" || wrong != "" {
		t.Errorf("omitted arguments: %s, mismatch (-want +got):\n%s", wrong, diff)
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
	{`{"agent_name":"x","metadata":{"skill":"s"}}`, `"metadata" must not have the key "skill", which is not for you to set`},
	{`{"agent_name":"x","tags":["a"` + strings.Repeat(`,"a"`, maxTexts) + `]}`, `"tags" has 65 entries; the maximum is 64`},
	{`{"agent_name":"x","minutes":61}`, `"minutes" must be between 0 and 60, not 61`},
	{`{"agent_name":"x","minutes":1e999}`, `"minutes" is too large a number`},
	{`{"agent_name":"x","minutes":true}`, `"minutes" must be a number, not true`},
	{`{"agent_name":"x","limit":2.5}`, `"limit" must be a whole number`},
	{`{"agent_name":"x","done":1}`, `"done" must be true or false, not a number`},
	{`{"agent_name":"x","tags":"a"}`, `"tags" must be an array of strings, not a string`},
	{`{"agent_name":"x","tags":["a",""]}`, `"tags" has the entry 1, which must not be empty`},
	{`{"agent_name":"x","agentName":"y"}`, `there is no argument "agentName" (did you mean "agent_name"?)`},
	{`{"agent_name":"x","agent_name":"y"}`, `"agent_name" appears twice`},
	{`{"agent_name":"x"`, `because they break off at their end`},
	{`{agent_name:"x"}`, `because of character 2`},
	{`["x"]`, `they are an array`},
	{`"{\"agent_name\":\"x\"}"`, `they are a string that holds JSON`},
	{strings.Repeat("[", 20000) + strings.Repeat("]", 20000), `they are not JSON`},
}

func TestReadRefuses(t *testing.T) {
	t.Parallel()
	for _, tt := range wrongs {
		_, wrong := formOf[tryArgs]().read([]byte(tt.raw), new(tryArgs))
		if !strings.Contains(wrong, tt.want) || len(wrong) > 1500 {
			t.Errorf("read(%.60s) = %s\nwant %s", tt.raw, wrong, tt.want)
		}
	}
	many := `{"agent_name":"x"`
	for _, name := range []string{"a", "b", "c", "d", "e", "f", "g"} {
		many += `,"` + name + strings.Repeat("x", 1000) + `":1`
	}
	if _, wrong := formOf[tryArgs]().read([]byte(many+"}"), new(tryArgs)); !strings.Contains(wrong, "2 further arguments are wrong") || len(wrong) > 1500 {
		t.Errorf("seven wrong arguments: %s", wrong)
	}
}

func TestReadOpen(t *testing.T) {
	t.Parallel()
	open := formOf[tryArgs]().opened([]string{"colour"})
	var got tryArgs
	more, wrong := open.read([]byte(`{"agent_name":"x","tone":"kind","n":3,"Agent_Name":"y","colour":"green"}`), &got)
	if diff := cmp.Diff(map[string]any{"tone": "kind", "n": json.Number("3"), "Agent_Name": "y", "colour": "green"}, more); diff != "" || wrong != "" || got.Agent != "x" || got.Colour != "" {
		t.Errorf("read = %+v, %s, mismatch (-want +got):\n%s", got, wrong, diff)
	}
	for raw, want := range map[string]string{
		`{"agent_name":"x","other":{"a":1}}`:     `"other" is a further argument, and must be a string, a number, true or false, not an object`,
		`{"agent_name":"x","meta_data":{"a":1}}`: `there is no argument "meta_data" (did you mean "metadata"?)`,
		`{"other":1}`:                            `"agent_name" is missing`,
	} {
		if _, wrong := open.read([]byte(raw), new(tryArgs)); !strings.Contains(wrong, want) {
			t.Errorf("read(%s) = %s, want %s", raw, wrong, want)
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
	closed, open := formOf[tryArgs](), formOf[tryArgs]().opened(nil)
	schema, openSchema := compiled(f, closed.input), compiled(f, open.input)
	f.Fuzz(func(t *testing.T, raw []byte) {
		_, wrong := closed.read(raw, new(tryArgs))
		_, openWrong := open.read(raw, new(tryArgs))
		doc, bad := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
		if len(bytes.TrimSpace(raw)) == 0 {
			doc, bad = nil, nil
		}
		if bad == nil {
			doc = withoutNulls(doc)
		}
		if wrong == "" && (bad != nil || schema.Validate(doc) != nil) {
			t.Errorf("read(%q) is right, and does not fit the schema: %v", raw, schema.Validate(doc))
		}
		if openWrong == "" && (bad != nil || openSchema.Validate(doc) != nil) {
			t.Errorf("read(%q) of the open form does not fit the schema: %v", raw, openSchema.Validate(doc))
		}
		if wrong != "" && openWrong == "" && bad == nil && schema.Validate(doc) == nil {
			t.Errorf("read(%q) = %s, which fits the schema", raw, wrong)
		}
		for _, text := range []string{wrong, openWrong} {
			if text != "" && (len(text) > 4000 || !strings.HasPrefix(text, "The arguments are not right: ")) {
				t.Errorf("read(%.100q): the text has %d bytes: %s", raw, len(text), text)
			}
		}
	})
}
