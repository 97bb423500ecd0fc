package mock

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/parley-a2a/parley/internal/file/yamlfile"
	"github.com/parley-a2a/parley/internal/testing/dialecttest"
)

// Problems name file, line and key, and all of them are reported together.
func TestParseProblems(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ src, want string }{
		{"", "m.yaml: the file is empty; it needs a2a_agents"},
		{"a2a_agents: []", "m.yaml:1: a2a_agents: must have at least one agent"},
		{"agents: []", "m.yaml:1: agents: unknown key; possible are a2a_agents"},
		{"a2a_agents: {}", "m.yaml:1: a2a_agents: must be a list, not a mapping"},
		{"- 1", "m.yaml:1: must be a mapping of keys to values, not a list"},
		{"a: [", "m.yaml:1: "},
		{"a: b\n---\nc: d\n", "m.yaml:3: a file must hold one document; a second one begins here"},
		{"a2a_agents: []\na2a_agents: []\n", "m.yaml:2: a2a_agents: appears twice"},
		{"a2a_agents: *b", "m.yaml:1: there is no anchor &b"},
		{"a2a_agents: [{name: a, lie: &a {b: *a}}]", "m.yaml:1: alias *a refers to itself"},
		{"a2a_agents: [{name: a, lie: {b: " + strings.Repeat("[", 65) + strings.Repeat("]", 65) + "}}]", "the file is nested too deep"},
		{"a2a_agents: [{name: a, lie: {b: 1, b: 2}}]", "m.yaml:1: a2a_agents[0].lie.b: appears twice"},
		{"a2a_agents: !!str b", "m.yaml:1: a2a_agents: tags are not used here; put a text that begins with ! in quotes"},
		{"a2a_agents:\n  - {}", "m.yaml:2: a2a_agents[0].name: is missing"},
		{"a2a_agents:\n  - name: tasks", "m.yaml:2: a2a_agents[0].name: \"tasks\" cannot be a name"},
		{"a2a_agents:\n  - name: a\n  - name: a", "m.yaml:3: a2a_agents[1].name: \"a\" is the name of two agents"},
		{"a2a_agents: [{name: a, auth: {}}]", "m.yaml:1: a2a_agents[0].auth.token: is missing"},
		{"a2a_agents: [{name: a, auth: secret}]", "a2a_agents[0].auth: must be a mapping of keys to values, not \"secret\""},
		{"a2a_agents: [{name: [a]}]", "a2a_agents[0].name: must be a single value, not a list"},
		{"a2a_agents: [{name: a, card: b}]", "a2a_agents[0].card: must be a mapping of keys to values, not \"b\""},
		{"a2a_agents: [{name: a, latency: 1}]", "a2a_agents[0].latency: \"1\" is not a duration like 200ms or 3s"},
		{"a2a_agents: [{name: a, latency: -1s}]", "a2a_agents[0].latency: \"-1s\" is not a duration"},
		{"a2a_agents: [{name: a, serve: [grpc]}]", "a2a_agents[0].serve[0]: \"grpc\" is not one of jsonrpc, rest, v0.3, " + dialecttest.Derived},
		{"a2a_agents: [{name: a, operations: {Fly: {}}}]", "a2a_agents[0].operations.Fly: is not an operation"},
		{"a2a_agents: [{name: a, operations: {GetTask: {http: 503, fault: hang}}}]", "has more than one of protocol_error, http and fault"},
		{"a2a_agents: [{name: a, operations: {GetTask: {times: -1}}}]", "times and latency must not be negative"},
		{rules("{}"), "responses[0]: has no answer"},
		{rules("{fault: slow}"), "responses[0]: has no answer"},
		{rules("{fault: hang, response: a}"), "responses[0].fault: hang comes instead of an answer"},
		{rules("{message: a, error: b}"), "responses[0]: has more than one answer"},
		{rules("{response: a, times: -1}"), "times and latency must not be negative"},
		{rules("{response: a, match: {regex: '('}}"), "responses[0].match.regex: error parsing regexp"},
		{rules("{response: a, match: {turn: -1}}"), "match.turn: must not be negative; the first message is 1"},
		{rules("{response: a, match: {turn: one}}"), "match.turn: \"one\" is not a whole number"},
		{rules("{response: a, match: {data: null}}"), "match.data: must be a value other than null"},
		{rules("{response: {parts: []}}"), "response: needs parts"},
		{rules("{response: {parts: [{text: a, url: b}]}}"), "response.parts[0]: must be only one of text, data, raw, file and url"},
		{rules("{response: {parts: [{raw: '*'}]}}"), "response.parts[0].raw: is not base64"},
		{rules("{response: {parts: [{file: none}]}}"), "response.parts[0].file: stat none"},
		{rules("{response: {parts: [{file: .}]}}"), "response.parts[0].file: . is not a file"},
		{rules("{response: {parts: [{data: .inf}]}}"), "m.yaml:1: .inf cannot be represented in JSON"},
		{rules("{artifacts: [{name: a}]}"), "artifacts[0]: needs parts or chunks"},
		{rules("{protocol_error: Nothing}"), "protocol_error: \"Nothing\" is not an error of the protocol"},
		{rules("{protocol_error: {message: a}}"), "protocol_error: needs a name or a code"},
		{rules("{http: 99}"), "http: 99 is not a status from 200 to 599"},
		{rules("{steps: [{}]}"), "steps[0]: must be exactly one of wait, say"},
		{rules("{steps: [{say: a, ask: b}]}"), "steps[0]: must be exactly one of wait, say"},
		{rules("{steps: [{say: a, for: 1s}]}"), "steps[0].for: belongs to authorize"},
		{rules("{steps: [{fault: slow}]}"), "steps[0].fault: \"slow\" is not one of hang, reset, garbage, truncated, close"},
		{rules("{steps: [{complete: a}, {say: b}]}"), "steps[1]: comes after the step that ends the task"},
		{rules("{response: a, Response: b}"), "unknown key"},
		{rules("{protocolError: ParseError, protocol_error: ParseError}"), "appears twice"},
		{strings.Repeat("a", maxFile+1), "m.yaml: the file is larger than"},
	} {
		c, err := Parse("m.yaml", []byte(tt.src))
		var problems yamlfile.Errors
		if !errors.As(err, &problems) || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("Parse(%.80q) = %v, %v, want %q", tt.src, c, err, tt.want)
		}
	}
	_, err := Parse("m.yaml", []byte("a2a_agents:\n  - name: a b\n    latency: x\n    serve:\n      - y\n"))
	want := "m.yaml:3: a2a_agents[0].latency: \"x\" is not a duration like 200ms or 3s, of at most a day\n" +
		"m.yaml:5: a2a_agents[0].serve[0]: \"y\" is not one of jsonrpc, rest, v0.3, " + dialecttest.Derived
	if err == nil || err.Error() != want {
		t.Errorf("Parse() = %v, want %s", err, want)
	}
	if _, err := Load(filepath.Join(t.TempDir(), "none")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("Load() = %v, want that there is no file", err)
	}
}

// rules returns a script with one agent and one rule.
func rules(rule string) string { return "a2a_agents: [{name: a, responses: [" + rule + "]}]" }

func TestParse(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "hello.txt"), []byte("hello"), 0o600); err != nil {
		t.Fatal(err)
	}
	const src = `
a2a_agents:
  - name: one
    card: {x: 1.50}
    latency: 20ms
    responses:
      - &base
        skill: s
        match: {data: {n: 12345678901234567890}}
        response: {parts: [{file: hello.txt}, second, {data: 0x10}]}
      - <<: *base
        times: 2
      - steps:
          - authorize: sign in
            for: 1s
`
	path := filepath.Join(dir, "m.yaml")
	if err := os.WriteFile(path, []byte(src), 0o600); err != nil {
		t.Fatal(err)
	}
	got, err := Load(path)
	if err != nil {
		t.Fatal(err)
	}
	rule := Rule{
		Skill: "s", Match: &Match{Data: object{"n": json.Number("12345678901234567890")}},
		Response: &Content{Parts: []Part{{File: "hello.txt"}, {Text: "second"}, {Data: json.Number("16")}}},
	}
	twice := rule
	twice.Times = 2
	want := &Config{Agents: []Agent{{
		Name: "one", Card: object{"x": json.Number("1.50")}, Latency: 20 * time.Millisecond,
		Responses: []Rule{rule, twice, {Steps: []Step{{Authorize: Text("sign in"), For: time.Second}}}},
	}}}
	if diff := cmp.Diff(want, got, cmpopts.IgnoreUnexported(Config{})); diff != "" {
		t.Errorf("Load() mismatch (-want +got):\n%s", diff)
	}
	agents := compile(got, func(key, format string, args ...any) { t.Errorf("%s: "+format, append([]any{key}, args...)...) })
	part := agents[0].rules[0].script[0].parts[0]
	if diff := cmp.Diff(object{"raw": "aGVsbG8=", "filename": "hello.txt"}, part); diff != "" {
		t.Errorf("the file becomes another part (-want +got):\n%s", diff)
	}
}

// The agents of a whole configuration of another mock are found below its spec.
func TestParseSpec(t *testing.T) {
	t.Parallel()
	for _, src := range []string{
		"apiVersion: mock.example/v1alpha1\nkind: Arena\nspec:\n  providers: []\n  a2a_agents: [{name: a, responses: [{response: ok}]}]\n",
		"apiVersion: v1\nkind: Arena\na2a_agents: [{name: a, responses: [{response: ok}]}]\n",
	} {
		c, err := Parse("arena.yaml", []byte(src))
		if err != nil || len(c.Agents) != 1 || c.Agents[0].Name != "a" {
			t.Errorf("Parse(%q) = %v, %v, want agent a", src, c, err)
		}
	}
	_, err := Parse("arena.yaml", []byte("kind: Arena\nspec:\n  a2a_agents:\n    - nam: a\n"))
	if err == nil || !strings.HasPrefix(err.Error(), "arena.yaml:4: spec.a2a_agents[0].nam: unknown key; did you mean name?") {
		t.Errorf("Parse() = %v, want the key with spec", err)
	}
}

// The reader does not panic, and accepted scripts can be served.
func FuzzParse(f *testing.F) {
	for _, src := range []string{
		rules("{response: a}"), rules("{steps: [{ask: {parts: [{data: [1, {a: null}]}]}}, {fault: reset}]}"),
		"a2a_agents: [{name: a, lie: {b: &x [1]}, card: {c: *x}}]", "a: &a {<<: *a}", "spec: {a2a_agents: ~}",
		"a2a_agents:\n- name: a\n  responses:\n  - match: {regex: '(?i)a'}\n    protocol_error: {name: ParseError, retry_after: 1s}\n",
	} {
		f.Add([]byte(src))
	}
	f.Add([]byte("\r\r\xe1"))
	// Each of these is a line break in YAML.
	breaks := func(src []byte) int { return bytes.Count(src, []byte("\n")) + bytes.Count(src, []byte("\r")) }
	f.Fuzz(func(t *testing.T, src []byte) {
		c, err := Parse("m.yaml", src)
		var problems yamlfile.Errors
		switch {
		case err != nil && (!errors.As(err, &problems) || len(problems) == 0):
			t.Errorf("Parse() = %v, want Errors", err)
		case err != nil:
			for _, p := range problems {
				if p.Problem == "" || p.Line < 0 || p.Line > breaks(src)+2 {
					t.Errorf("a problem without words, or outside of the file: %+v", p)
				}
			}
		default:
			s, err := New(c, Options{})
			if err != nil {
				t.Fatalf("New() = %v after Parse was content", err)
			}
			defer s.Close()
			if got := exchange(s, "GET /.well-known/agent-card.json\n\n"); !strings.HasPrefix(got, "200\n") && c.Agents[0].Operations == nil {
				t.Errorf("the card: %s", got)
			}
		}
	})
}

func schemaFile(t *testing.T) []byte {
	t.Helper()
	b, err := os.ReadFile("schema/mock.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// compiled returns the published schema.
func compiled(t *testing.T) *jsonschema.Schema {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(schemaFile(t)))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("mock.schema.json", doc); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile("mock.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// The schema and the reader accept the same files.
func TestSchemaAgreesWithTheReader(t *testing.T) {
	t.Parallel()
	s := compiled(t)
	for src, want := range map[string]bool{
		"a2a_agents: []":                                                                               false,
		"a2a_agents: [{}]":                                                                             false,
		"a2a_agents: [{name: a}]":                                                                      true,
		"a2a_agents: [{name: a, other: 1}]":                                                            false,
		"a2a_agents: [{name: a, latency: 1.5s}]":                                                       true,
		"a2a_agents: [{name: a, latency: 1h30m}]":                                                      true,
		"a2a_agents: [{name: a, latency: soon}]":                                                       false,
		"a2a_agents: [{name: a, latency: 5}]":                                                          false,
		"a2a_agents: [{name: a, latency: 0}]":                                                          true,
		"a2a_agents: [{name: a, card: {any: [1, {x: null}]}}]":                                         true,
		"a2a_agents: [{name: a, card: []}]":                                                            false,
		"a2a_agents: [{name: a, lie: {url: null}}]":                                                    true,
		"a2a_agents: [{name: a, serve: [rest, v0.3]}]":                                                 true,
		"a2a_agents: [{name: a, serve: rest}]":                                                         false,
		"a2a_agents: [{name: a, auth: {scheme: api_key, token: t}}]":                                   true,
		"a2a_agents: [{name: a, auth: {scheme: basic, token: t}}]":                                     false,
		"a2a_agents: [{name: a, auth: {}}]":                                                            false,
		"a2a_agents: [{name: a, operations: {GetTask: {http: 500, times: 2}}}]":                        true,
		"a2a_agents: [{name: a, operations: {GetTask: {http: 100}}}]":                                  false,
		"a2a_agents: [{name: a, operations: {GetTask: 500}}]":                                          false,
		rules("{response: a}"):                                                                         true,
		rules("{response: 1.0}"):                                                                       true,
		rules("{response: [a]}"):                                                                       false,
		rules("{response: {parts: [a, {data: [1]}]}}"):                                                 true,
		rules("{response: {parts: []}}"):                                                               false,
		rules("{response: {text: a}}"):                                                                 false,
		rules("{response: {parts: [{media_type: a/b, url: u, filename: f, metadata: {a: 1}}]}}"):       true,
		rules("{message: a, skill: b, times: 3, latency: 1ms}"):                                        true,
		rules("{message: a, times: -3}"):                                                               false,
		rules("{message: a, match: {contains: a, equals: b, regex: c, data: 1, turn: 2, context: d}}"): true,
		rules("{message: a, match: {data: null}}"):                                                     false,
		rules("{message: a, match: {like: b}}"):                                                        false,
		rules("{artifacts: [a, {id: b, name: c, description: d, chunks: [e, 1], every: 1s, metadata: {}}]}"): true,
		rules("{artifacts: a}"): false,
		rules("{steps: [{wait: 1s}, {say: a}, {artifact: b}, {ask: c}, {authorize: d, for: 1s}, {fault: close}, {complete: e}]}"): true,
		rules("{steps: [{fault: slow}]}"): false,
		rules("{steps: [{fail: a}]}"):     true,
		rules("{steps: [{reject: a}]}"):   true,
		rules("{steps: {}}"):              false,
		rules("{protocol_error: {name: ParseError, code: -1, message: m, retry_after: 1s}}"): true,
		rules("{protocol_error: ParseError}"):                                                true,
		rules("{protocol_error: [ParseError]}"):                                              false,
		rules("{http: {status: 200, header: {A: b}, body: c}}"):                              true,
		rules("{http: {body: c}}"):                                                           false,
		rules("{fault: hang}"):                                                               true,
		rules("{fault: close}"):                                                              false,
	} {
		var root any
		d := yamlfile.NewScript("m.yaml")
		if d.Decode([]byte(src), &root); d.Problems() != nil {
			t.Fatalf("%s: %v", src, d.Problems())
		}
		instance, err := jsonschema.UnmarshalJSON(bytes.NewReader(marshal(root)))
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Validate(instance); (err == nil) != want {
			t.Errorf("schema on %s: %v, want valid to be %v", src, err, want)
		}
		if _, err := Parse("m.yaml", []byte(src)); (err == nil) != want {
			t.Errorf("Parse(%s) = %v, want valid to be %v", src, err, want)
		}
	}
}

// node of the schema.
type schemaNode struct {
	Ref         string                `json:"$ref"`
	Description string                `json:"description"`
	Properties  map[string]schemaNode `json:"properties"`
	Additional  any                   `json:"additionalProperties"`
	Items       *schemaNode           `json:"items"`
	Enum        []string              `json:"enum"`
	AnyOf       []schemaNode          `json:"anyOf"`
}

// Every field has a property with the right type and a description, and every property has a
// field.
func TestSchemaMatchesTheStructs(t *testing.T) {
	t.Parallel()
	var doc struct {
		schemaNode
		Defs map[string]json.RawMessage `json:"$defs"`
	}
	if err := json.Unmarshal(schemaFile(t), &doc); err != nil {
		t.Fatal(err)
	}
	compare(t, "Config", doc.schemaNode, reflect.TypeFor[Config]())
	for _, typ := range []reflect.Type{
		reflect.TypeFor[Agent](), reflect.TypeFor[Auth](), reflect.TypeFor[Rule](), reflect.TypeFor[Match](), reflect.TypeFor[Content](),
		reflect.TypeFor[Part](), reflect.TypeFor[Artifact](), reflect.TypeFor[Step](), reflect.TypeFor[Reply](),
		reflect.TypeFor[ProtocolError](), reflect.TypeFor[HTTP](),
	} {
		var n schemaNode
		if err := json.Unmarshal(doc.Defs[typ.Name()], &n); err != nil {
			t.Fatalf("%s: %v", typ.Name(), err)
		}
		if n.Properties == nil { // a short form may replace it
			n = n.AnyOf[len(n.AnyOf)-1]
		}
		compare(t, typ.Name(), n, typ)
	}
}

func compare(t *testing.T, name string, n schemaNode, typ reflect.Type) {
	t.Helper()
	if n.Additional != false {
		t.Errorf("%s: the schema lets other keys pass", name)
	}
	var keys []string
	for _, f := range reflect.VisibleFields(typ) {
		key := f.Tag.Get("yaml")
		if key == "" {
			continue
		}
		keys = append(keys, key)
		p, ok := n.Properties[key]
		if !ok {
			t.Errorf("%s: the schema lacks %s", name, key)
			continue
		}
		if want, got := expected(f), shapeOfNode(p); want != got {
			t.Errorf("%s.%s is %s in the schema, want %s", name, key, got, want)
		}
		if p.Description == "" && !strings.HasPrefix(p.Ref, "#/$defs/") {
			t.Errorf("%s.%s has no description", name, key)
		}
	}
	for key := range n.Properties {
		if !slices.Contains(keys, key) {
			t.Errorf("%s: the schema has %s, which is no field", name, key)
		}
	}
}

// expected returns the required shape of a field's property.
func expected(f reflect.StructField) string {
	if enum := f.Tag.Get("enum"); enum != "" {
		return "one of " + enum
	}
	if each := f.Tag.Get("each"); each != "" {
		return "list of one of " + each
	}
	switch f.Type {
	case reflect.TypeFor[[]Wire]():
		return "list of one of " + strings.Join(wires(), ",")
	case reflect.TypeFor[string]():
		return "text"
	case reflect.TypeFor[int]():
		return map[string]string{"code": "code", "status": "status"}[f.Tag.Get("yaml")] + map[bool]string{true: "count"}[f.Tag.Get("yaml") != "code" && f.Tag.Get("yaml") != "status"]
	case reflect.TypeFor[time.Duration]():
		return "duration"
	case reflect.TypeFor[any]():
		return "value"
	case reflect.TypeFor[map[string]any]():
		return "object"
	case reflect.TypeFor[map[string]string]():
		return "mapping"
	case reflect.TypeFor[[]string]():
		return "texts"
	}
	switch f.Type.Kind() {
	case reflect.Slice:
		return "list of " + f.Type.Elem().Name()
	case reflect.Map:
		return "mapping of " + f.Type.Elem().Name()
	case reflect.Pointer:
		return f.Type.Elem().Name()
	}
	return f.Type.Name()
}

// shapeOfNode returns the shape of a property.
func shapeOfNode(p schemaNode) string {
	switch {
	case p.Ref != "":
		return strings.TrimPrefix(p.Ref, "#/$defs/")
	case p.Items != nil:
		return "list of " + shapeOfNode(*p.Items)
	case len(p.AnyOf) > 0:
		return shapeOfNode(p.AnyOf[0])
	case p.Enum != nil:
		return "one of " + strings.Join(p.Enum, ",")
	}
	if m, ok := p.Additional.(map[string]any); ok {
		ref, _ := m["$ref"].(string)
		return "mapping of " + strings.TrimPrefix(ref, "#/$defs/")
	}
	return "unknown"
}
