package protocol_test

import (
	"bytes"
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/parley-a2a/parley/auth"
	"github.com/parley-a2a/parley/internal/bus"
	"github.com/parley-a2a/parley/internal/bus/protocol"
)

// bodies are the bodies of all types.
var bodies = map[bus.Type]reflect.Type{
	protocol.TypeWork:      reflect.TypeFor[protocol.Work](),
	protocol.TypeClaim:     reflect.TypeFor[protocol.Claim](),
	protocol.TypeGrant:     reflect.TypeFor[protocol.Grant](),
	protocol.TypeDeny:      reflect.TypeFor[protocol.Deny](),
	protocol.TypeReport:    reflect.TypeFor[protocol.Report](),
	protocol.TypeConfirm:   reflect.TypeFor[protocol.Confirm](),
	protocol.TypeHeartbeat: reflect.TypeFor[protocol.Heartbeat](),
	protocol.TypeCancel:    reflect.TypeFor[protocol.Cancel](),
	protocol.TypeBatch:     reflect.TypeFor[protocol.Batch](),
	protocol.TypeFetch:     reflect.TypeFor[protocol.Fetch](),
	protocol.TypePiece:     reflect.TypeFor[protocol.Piece](),
	protocol.TypeHub:       reflect.TypeFor[protocol.Hub](),
	protocol.TypeAnnounce:  reflect.TypeFor[protocol.Announce](),
	protocol.TypeGoodbye:   reflect.TypeFor[protocol.Goodbye](),
	protocol.TypeChat:      reflect.TypeFor[protocol.Chat](),
	bus.TypeUnreadable:     reflect.TypeFor[bus.Unreadable](),
}

// parts are the objects within others.
var parts = map[string]reflect.Type{
	"held":      reflect.TypeFor[protocol.HeldJob](),
	"batched":   reflect.TypeFor[protocol.Batched](),
	"blob":      reflect.TypeFor[protocol.Blob](),
	"piece":     reflect.TypeFor[protocol.Piece](),
	"content":   reflect.TypeFor[protocol.Content](),
	"signature": reflect.TypeFor[bus.Signature](),
	"principal": reflect.TypeFor[auth.Principal](),
}

const schemaFile = "../../../docs/wire.schema.json"

// object is the part of a schema that the tests need.
type object struct {
	Required   []string
	Properties map[string]json.RawMessage
	AllOf      []struct {
		If struct {
			Properties struct{ Type struct{ Const string } }
		}
		Then struct {
			Properties struct {
				Body struct {
					Ref string `json:"$ref"`
				}
			}
		}
	}
	Defs map[string]object `json:"$defs"`
}

func readSchema(t *testing.T) object {
	t.Helper()
	text, err := os.ReadFile(schemaFile)
	if err != nil {
		t.Fatal(err)
	}
	var o object
	if err := json.Unmarshal(text, &o); err != nil {
		t.Fatal(err)
	}
	return o
}

// compiled returns the published schema.
func compiled(t *testing.T) *jsonschema.Schema {
	t.Helper()
	c := jsonschema.NewCompiler()
	c.AssertContent()
	s, err := c.Compile(schemaFile)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// validate returns the error of the schema for an envelope.
func validate(t *testing.T, s *jsonschema.Schema, text []byte) error {
	t.Helper()
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return s.Validate(v)
}

// Every constant of the type bus.Type has a body here, and so a place in the schema.
func TestAllTypesAreKnown(t *testing.T) {
	t.Parallel()
	for _, dir := range []string{".", ".."} {
		for value := range constants(t, dir) {
			if bodies[bus.Type(value)] == nil {
				t.Errorf("type %q has no body in this test", value)
			}
		}
	}
}

// constants returns the values of the constants named Type… in a folder.
func constants(t *testing.T, dir string) map[string]bool {
	t.Helper()
	found := map[string]bool{}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		if !strings.HasSuffix(entry.Name(), ".go") || strings.HasSuffix(entry.Name(), "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), dir+"/"+entry.Name(), nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			v, ok := n.(*ast.ValueSpec)
			if !ok || len(v.Values) != 1 || !strings.HasPrefix(v.Names[0].Name, "Type") {
				return true
			}
			if lit, ok := v.Values[0].(*ast.BasicLit); ok && lit.Kind == token.STRING {
				text, err := strconv.Unquote(lit.Value)
				if err != nil {
					t.Fatal(err)
				}
				found[text] = true
			}
			return true
		})
	}
	if len(found) == 0 {
		t.Fatalf("no constants in %s", dir)
	}
	return found
}

// The schema and the structs have the same members, and require the same.
func TestSchemaAgreesWithTheStructs(t *testing.T) {
	t.Parallel()
	root := readSchema(t)
	sameMembers(t, "envelope", root, reflect.TypeFor[bus.Envelope]())
	for typ, body := range bodies {
		sameMembers(t, string(typ), root.Defs[string(typ)], body)
	}
	for name, part := range parts {
		sameMembers(t, name, root.Defs[name], part)
	}
	var chosen []string
	for _, a := range root.AllOf {
		chosen = append(chosen, a.If.Properties.Type.Const)
		if want := "#/$defs/" + a.If.Properties.Type.Const; a.Then.Properties.Body.Ref != want {
			t.Errorf("the body of %s is %s, want %s", a.If.Properties.Type.Const, a.Then.Properties.Body.Ref, want)
		}
	}
	var types []string
	for typ := range bodies {
		types = append(types, string(typ))
	}
	slices.Sort(chosen)
	slices.Sort(types)
	if diff := cmp.Diff(types, chosen); diff != "" {
		t.Errorf("types with a body (-Go +schema):\n%s", diff)
	}
}

func sameMembers(t *testing.T, name string, o object, typ reflect.Type) {
	t.Helper()
	all, required := members(typ)
	got := slices.Sorted(maps.Keys(o.Properties))
	if diff := cmp.Diff(all, got); diff != "" {
		t.Errorf("members of %s (-Go +schema):\n%s", name, diff)
	}
	slices.Sort(o.Required)
	if diff := cmp.Diff(required, o.Required); diff != "" && len(required)+len(o.Required) > 0 {
		t.Errorf("required in %s (-Go +schema):\n%s", name, diff)
	}
}

// members returns the names of the members of a struct, and of those that are never omitted.
func members(typ reflect.Type) (all, required []string) {
	for f := range typ.Fields() {
		if f.Anonymous {
			a, r := members(f.Type)
			all, required = append(all, a...), append(required, r...)
			continue
		}
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name == "-" {
			continue
		}
		all = append(all, name)
		if options != "omitempty" {
			required = append(required, name)
		}
	}
	slices.Sort(all)
	slices.Sort(required)
	return all, required
}

// The schema accepts every envelope that Go encodes: with all members set, and with the
// required ones alone.
func TestEncodedTypesAreValid(t *testing.T) {
	t.Parallel()
	s := compiled(t)
	for typ, body := range bodies {
		for _, full := range []bool{true, false} {
			value := reflect.New(body)
			fill(value.Elem(), full)
			text, err := json.Marshal(value.Interface())
			if err != nil {
				t.Fatal(err)
			}
			e := new(bus.Envelope)
			fill(reflect.ValueOf(e).Elem(), full)
			e.Type, e.Body = typ, text
			encoded, err := e.Encode()
			if err != nil {
				t.Fatalf("%s: %v", typ, err)
			}
			if err := validate(t, s, encoded); err != nil {
				t.Errorf("the schema refuses %s: %v", encoded, err)
			}
		}
	}
}

// raw are the members that are objects of A2A or lists of them.
var raw = map[string]string{"events": `[{"statusUpdate":{"status":{"state":"TASK_STATE_WORKING"}}}]`}

// fill sets all members of a struct, or only those that are never omitted.
func fill(v reflect.Value, all bool) {
	for f, field := range v.Fields() {
		if f.Anonymous {
			fill(field, all)
			continue
		}
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name == "-" || options == "omitempty" && !all {
			continue
		}
		text := raw[name]
		switch {
		case text != "":
		case field.Type() == reflect.TypeFor[json.RawMessage]():
			text = `{"member":1}`
		case name == "type" && v.Type() == reflect.TypeFor[protocol.Chat]():
			text = `"status"`
		case field.Kind() == reflect.Pointer:
			field.Set(reflect.New(field.Type().Elem()))
			fill(field.Elem(), all)
			continue
		case field.Kind() == reflect.Slice && field.Type().Elem().Kind() == reflect.Struct:
			field.Set(reflect.MakeSlice(field.Type(), 1, 1))
			fill(field.Index(0), all)
			continue
		default:
			text = sample[field.Kind()]
			if field.Type() == reflect.TypeFor[[]byte]() {
				text = `"AQID"`
			}
		}
		if err := json.Unmarshal([]byte(text), field.Addr().Interface()); err != nil {
			panic("fill " + name + " with " + text + ": " + err.Error())
		}
	}
}

// sample has a value of each kind of member.
var sample = map[reflect.Kind]string{
	reflect.String: `"word"`, reflect.Bool: "true", reflect.Int: "2", reflect.Int64: "2",
	reflect.Slice: `["word"]`, reflect.Map: `{"name":"word"}`,
}

// The schema refuses invalid envelopes.
func TestSchemaRefuses(t *testing.T) {
	t.Parallel()
	s := compiled(t)
	const start = `{"v":2,"id":"1","time":1,"source":"hub/h","type":`
	for text, want := range map[string]bool{
		start + `"unknown"}`: true,
		start + `"job.confirm","body":{"final":true},"more":1}`:                                         true,
		start + `"job.confirm","body":{"final":"yes"}}`:                                                 false,
		start + `"job.deny","body":{}}`:                                                                 false,
		start + `"job.deny"}`:                                                                           false,
		start + `"job.grant","body":{"nonce":"n","token":"","lease":1}}`:                                false,
		start + `"job.report","body":{"token":"t","worker":"w","events":[{}]}}`:                         false,
		start + `"job.report","body":{"token":"t","worker":"w","events":[{"task":{},"message":{}}]}}`:   false,
		start + `"job.report","body":{"token":"t","worker":"w","events":[{"task":{}}]}}`:                true,
		start + `"job.claim","body":{"delivery":0,"worker":"w","nonce":"n"}}`:                           false,
		start + `"job.claim","body":{"delivery":1,"worker":"w w","nonce":"n"}}`:                         false,
		start + `"job.deny","body":{"reason":"r"},"signature":{"key":"k","value":"not base64"}}`:        false,
		strings.Replace(start, `"v":2`, `"v":1`, 1) + `"unknown"}`:                                      false,
		strings.Replace(start, `"id":"1",`, ``, 1) + `"unknown"}`:                                       false,
		strings.Replace(start, `"id":"1"`, `"id":""`, 1) + `"unknown"}`:                                 false,
		strings.Replace(start, `"v":2`, `"v":2,"replyTo":"a b"`, 1) + `"unknown"}`:                      false,
		strings.Replace(start, `"v":2`, `"v":2,"principal":{"displayName":"nobody"}`, 1) + `"unknown"}`: false,
	} {
		if err := validate(t, s, []byte(text)); (err == nil) != want {
			t.Errorf("%s: valid is %v, want %v: %v", text, err == nil, want, err)
		}
	}
}
