package hubtools

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/parley-a2a/parley/internal/clip"
	"github.com/parley-a2a/parley/internal/json/rawjson"
	"github.com/parley-a2a/parley/internal/suggest"
)

// form describes the arguments of a tool. The schema that the model gets is also the one by which
// they are checked, so that the two cannot differ.
type form struct {
	schema *jsonschema.Schema
	// input is the schema as JSON.
	input json.RawMessage
	// defaults is a JSON object with the values of omitted arguments.
	defaults []byte
}

// Types of arguments that their kind in Go does not describe.
type (
	// whole is a number without a fractional part; 3.0 is one.
	whole float64
	// scalars are strings, numbers and flags by names that the hub does not interpret itself.
	scalars map[string]any
)

// reserved are the keys of metadata that the hub interprets itself.
var reserved = []any{"skill", "skillId", "skillHint", "sessionId", "parley.session"}

// maxTexts is the largest number of texts in an array.
const maxTexts = 64

var argumentTypes = &jsonschema.ForOptions{TypeSchemas: map[reflect.Type]*jsonschema.Schema{
	reflect.TypeFor[whole]():           {Type: "integer"},
	reflect.TypeFor[json.RawMessage](): {Type: "object"},
	reflect.TypeFor[[]string]():        {Type: "array", Items: &jsonschema.Schema{Type: "string"}, MaxItems: jsonschema.Ptr(maxTexts)},
	reflect.TypeFor[scalars](): {
		Type: "object", AdditionalProperties: scalar, PropertyNames: &jsonschema.Schema{Not: &jsonschema.Schema{Enum: reserved}},
	},
}}

// scalar lists its types one by one, because some model providers reject an array of types.
var scalar = &jsonschema.Schema{AnyOf: []*jsonschema.Schema{{Type: "string"}, {Type: "number"}, {Type: "boolean"}}}

var forms sync.Map // of *form by the type of the arguments

// formOf returns the form of the arguments in a struct. An argument without omitempty is required;
// the tag jsonschema describes it. The tag max limits a number or the length of a text in
// characters, and min a number. The tag enum lists the allowed texts, and default is the value of an
// omitted argument. Texts without an enum must not be blank.
func formOf[A any]() *form {
	t := reflect.TypeFor[A]()
	return once(&forms, t, func() *form { return newForm[A](t) })
}

// once returns the value of a key, which build makes at the first use: a schema takes reflection.
func once[V any](values *sync.Map, key any, build func() V) V {
	if v, ok := values.Load(key); ok {
		return v.(V)
	}
	v, _ := values.LoadOrStore(key, build())
	return v.(V)
}

func newForm[A any](t reflect.Type) *form {
	s, err := jsonschema.For[A](argumentTypes)
	if err != nil {
		panic(err) // the types are our own
	}
	defaults := make(map[string]json.RawMessage)
	for _, field := range reflect.VisibleFields(t) {
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		p := s.Properties[name]
		if p == nil {
			continue // an embedded struct, whose fields follow
		}
		if value := field.Tag.Get("default"); value != "" {
			p.Default, defaults[name] = json.RawMessage(value), json.RawMessage(value)
		}
		limit(p, field.Tag)
	}
	b, err := json.Marshal(defaults)
	if err != nil {
		panic(err)
	}
	return &form{schema: s, input: schemaJSON(s), defaults: b}
}

// limit adds the limits in the tags of an argument to its schema.
func limit(p *jsonschema.Schema, tag reflect.StructTag) {
	number := func(key string) *float64 {
		if n, err := strconv.ParseFloat(tag.Get(key), 64); err == nil {
			return &n
		}
		return nil
	}
	least, most := number("min"), number("max")
	text := p
	if p.Items != nil {
		text = p.Items
	}
	switch {
	case text.Type != "string":
		p.Minimum, p.Maximum = least, most
	case tag.Get("enum") != "":
		for name := range strings.SplitSeq(tag.Get("enum"), ",") {
			text.Enum = append(text.Enum, name)
		}
	default:
		text.Pattern = `\S`
		if most != nil {
			text.MaxLength = jsonschema.Ptr(int(*most))
		}
	}
}

// opened returns the form without some arguments, but with any others that are scalars.
func (f *form) opened(without []string) *form {
	s := f.schema.CloneSchemas()
	maps.DeleteFunc(s.Properties, func(name string, _ *jsonschema.Schema) bool { return slices.Contains(without, name) })
	s.PropertyOrder = slices.DeleteFunc(slices.Clone(s.PropertyOrder), func(name string) bool { return slices.Contains(without, name) })
	s.AdditionalProperties = scalar
	return &form{schema: s, input: schemaJSON(s), defaults: f.defaults}
}

func schemaJSON(s *jsonschema.Schema) json.RawMessage {
	b, err := json.Marshal(s)
	if err != nil {
		panic(err) // the schemas are our own
	}
	return b
}

// open reports whether the form allows further arguments.
func (f *form) open() bool { return f.schema.AdditionalProperties == scalar }

// maxProblems is the largest number of problems in one text.
const maxProblems = 5

// read decodes arguments into a struct, and returns the further ones if the form is open. Empty
// input means an empty object, and null an omitted argument. If the arguments are wrong, it returns a
// text for the model that names each mistake, the required value, and a similar name that may have
// been meant.
func (f *form) read(raw json.RawMessage, into any) (further map[string]any, wrong string) {
	members, wrong := membersOf(raw)
	if wrong != "" {
		return nil, f.refuse([]string{wrong})
	}
	known, seen := make(map[string]json.RawMessage), make(map[string]bool)
	further = make(map[string]any)
	var problems, strange []string
	for _, m := range members {
		p, required := f.schema.Properties[m.name], slices.Contains(f.schema.Required, m.name)
		v := decoded(m.value)
		switch {
		case seen[m.name]:
			problems = append(problems, quote(m.name)+" appears twice")
		case p == nil && !f.open():
			strange = append(strange, f.unknown(m.name))
		case p == nil:
			further[m.name] = v
			if wrong := checkScalar(v); wrong != "" && suggest.Nearest(m.name, f.schema.PropertyOrder) != "" {
				strange = append(strange, f.unknown(m.name))
			} else if wrong != "" {
				strange = append(strange, fmt.Sprintf("%s is a further argument, and %s", quote(m.name), wrong))
			}
		case v == nil && !required:
		default:
			known[m.name] = m.value
			if wrong := check(p, v); wrong != "" {
				problems = append(problems, fmt.Sprintf("%q %s", m.name, wrong))
			}
		}
		seen[m.name] = true
	}
	for _, name := range f.schema.Required {
		if !seen[name] {
			problems = append(problems, fmt.Sprintf("%q is missing", name))
		}
	}
	if problems = append(problems, strange...); len(problems) > 0 {
		return nil, f.refuse(problems)
	}
	if err := f.decode(known, into); err != nil {
		return nil, f.refuse([]string{"they cannot be read: " + err.Error()})
	}
	return further, ""
}

// decode decodes checked arguments into a struct.
func (f *form) decode(known map[string]json.RawMessage, into any) error {
	b, err := json.Marshal(known)
	if err != nil {
		return err
	}
	for _, object := range [][]byte{f.defaults, b} {
		d := json.NewDecoder(bytes.NewReader(object))
		d.UseNumber() // scalars keep their digits
		if err := d.Decode(into); err != nil {
			return err
		}
	}
	return nil
}

// refuse returns the text for the model about wrong arguments.
func (f *form) refuse(problems []string) string {
	if n := len(problems) - maxProblems; n > 0 {
		problems = append(problems[:maxProblems:maxProblems], fmt.Sprintf("%d further arguments are wrong", n))
	}
	return "The arguments are not right: " + strings.Join(problems, "; ") + ". " + f.words()
}

// member is a member of an object.
type member struct {
	name  string
	value json.RawMessage
}

// membersOf returns the members of an object, or a description of the problem.
func membersOf(raw json.RawMessage) ([]member, string) {
	raw = rawjson.Trim(raw)
	if len(raw) == 0 || string(raw) == "null" {
		return nil, ""
	}
	if !json.Valid(raw) {
		return nil, "they are not JSON, " + whereBroken(raw) + "; send one JSON object"
	}
	if raw[0] != '{' {
		return nil, "they are " + kindOf(decoded(raw)) + "; send one JSON object, not packed in anything"
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	_, _ = d.Token() // the JSON is valid
	var members []member
	for d.More() {
		name, _ := d.Token()
		var value json.RawMessage
		if err := d.Decode(&value); err != nil {
			return nil, "they cannot be read: " + err.Error()
		}
		members = append(members, member{name.(string), value})
	}
	return members, ""
}

// decoded returns valid JSON as a string, a json.Number, a bool, an array, an object, or nil.
func decoded(raw json.RawMessage) (v any) {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	_ = d.Decode(&v)
	return v
}

// whereBroken describes the position of the syntax error in invalid JSON.
func whereBroken(raw []byte) string {
	var v any
	err := json.Unmarshal(raw, &v)
	var syntax *json.SyntaxError
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF), errors.As(err, &syntax) && strings.Contains(syntax.Error(), "unexpected end"):
		return "because they break off at their end"
	case errors.As(err, &syntax):
		return fmt.Sprintf("because of character %d (%s)", syntax.Offset, quote(string(raw[max(0, syntax.Offset-1):min(int64(len(raw)), syntax.Offset+8)])))
	}
	return "or too deep"
}

// check describes the mistake in a value of an argument; empty if there is none.
func check(p *jsonschema.Schema, v any) string {
	switch p.Type {
	case "string":
		return checkText(p, v)
	case "number", "integer":
		return checkNumber(p, v)
	case "boolean":
		if _, ok := v.(bool); !ok {
			return mustBe("true or false", v)
		}
	case "array":
		return checkTexts(p, v)
	default:
		return checkObject(p, v)
	}
	return ""
}

func checkText(p *jsonschema.Schema, v any) string {
	s, ok := v.(string)
	switch n := utf8.RuneCountInString(s); {
	case !ok:
		return mustBe("a string", v)
	case p.Enum == nil && strings.TrimSpace(s) == "":
		return "must not be empty"
	case p.MaxLength != nil && n > *p.MaxLength:
		return fmt.Sprintf("has %d characters; the maximum is %d", n, *p.MaxLength)
	case p.Enum != nil && !slices.Contains(p.Enum, v):
		var names []string
		for _, name := range p.Enum {
			names = append(names, name.(string))
		}
		return "must be one of " + strings.Join(names, ", ") + ", not " + quote(s) + meant(s, names)
	}
	return ""
}

func checkNumber(p *jsonschema.Schema, v any) string {
	number, ok := v.(json.Number)
	if !ok {
		return mustBe("a number", v)
	}
	n, err := number.Float64()
	switch {
	case err != nil:
		return "is too large a number: " + clip.Fit(string(number), maxQuote)
	case p.Type == "integer" && n != math.Trunc(n):
		return "must be a whole number, not " + quote(string(number))
	case p.Minimum != nil && n < *p.Minimum, p.Maximum != nil && n > *p.Maximum:
		return fmt.Sprintf("must be between %v and %v, not %s", *p.Minimum, *p.Maximum, clip.Fit(string(number), maxQuote))
	}
	return ""
}

func checkTexts(p *jsonschema.Schema, v any) string {
	items, ok := v.([]any)
	switch {
	case !ok:
		return mustBe("an array of strings", v)
	case len(items) > maxTexts:
		return fmt.Sprintf("has %d entries; the maximum is %d", len(items), maxTexts)
	}
	for i, item := range items {
		if wrong := checkText(p.Items, item); wrong != "" {
			return fmt.Sprintf("has the entry %d, which %s", i, wrong)
		}
	}
	return ""
}

func checkObject(p *jsonschema.Schema, v any) string {
	members, ok := v.(map[string]any)
	switch {
	case !ok && p.PropertyNames == nil:
		return mustBe("a JSON object", v)
	case !ok:
		return mustBe("a JSON object of strings, numbers and true or false", v)
	case p.PropertyNames == nil:
		return ""
	}
	for _, name := range slices.Sorted(maps.Keys(members)) {
		if slices.Contains(reserved, any(name)) {
			return "must not have the key " + quote(name) + ", which is not for you to set"
		}
		if wrong := checkScalar(members[name]); wrong != "" {
			return "has the key " + quote(name) + ", which " + wrong
		}
	}
	return ""
}

func checkScalar(v any) string {
	switch v.(type) {
	case string, json.Number, bool:
		return ""
	}
	return mustBe("a string, a number, true or false", v)
}

// mustBe describes the required and the actual kind of a value.
func mustBe(want string, v any) string { return "must be " + want + ", not " + kindOf(v) }

// kindOf describes the kind of a value.
func kindOf(v any) string {
	switch v := v.(type) {
	case map[string]any:
		return "an object"
	case []any:
		return "an array"
	case bool:
		return strconv.FormatBool(v)
	case nil:
		return "null"
	case string:
		if s := strings.TrimSpace(v); s != "" && (s[0] == '{' || s[0] == '[') && json.Valid([]byte(s)) {
			return "a string that holds JSON: leave out the quotes around it"
		}
		return "a string"
	}
	return "a number"
}

// unknown describes an unknown argument, and suggests a similar name.
func (f *form) unknown(name string) string {
	return "there is no argument " + quote(name) + meant(name, f.schema.PropertyOrder)
}

func meant(word string, words []string) string {
	if near := suggest.Nearest(word, words); near != "" {
		return fmt.Sprintf(" (did you mean %q?)", near)
	}
	return ""
}

var kindWords = map[string]string{
	"string": "string", "number": "number", "integer": "whole number", "boolean": "true or false", "array": "array of strings",
}

// words lists the arguments in words.
func (f *form) words() string {
	var words []string
	for _, name := range f.schema.PropertyOrder {
		p := f.schema.Properties[name]
		kind := kindWords[p.Type]
		switch {
		case p.PropertyNames != nil:
			kind = "object of plain values"
		case kind == "":
			kind = "object"
		}
		if slices.Contains(f.schema.Required, name) {
			kind += ", required"
		}
		words = append(words, name+" ("+kind+")")
	}
	if f.open() {
		words = append(words, "and others whose values are plain")
	}
	if len(words) == 0 {
		return "There are no arguments: send {}."
	}
	return "The arguments are " + strings.Join(words, ", ") + "."
}

// maxQuote is the largest size of a quote of the arguments.
const maxQuote = 60
