package args

import (
	"encoding/json"
	"fmt"
)

// Kind is the form of a value.
type Kind uint8

// Kinds of values.
const (
	// Text is a non-blank string.
	Text Kind = iota
	// Number is a number.
	Number
	// Whole is a number without a fractional part.
	Whole
	// Flag is true or false.
	Flag
	// Object is a JSON object with any members.
	Object
	// Scalars is a JSON object whose values are strings, numbers, true or false.
	Scalars
	// Texts is an array of non-blank strings.
	Texts
)

// Field is one argument.
type Field struct {
	Name string
	Kind Kind
	// Required fields must be present and not null.
	Required bool
	// Description explains the argument to the model.
	Description string
	// Min and Max limit a number; both zero mean any number. Max limits the length in
	// characters of a Text or of each of Texts; zero means any length.
	Min, Max float64
	// Enum lists the allowed texts; empty means any.
	Enum []string
	// Reserved lists keys that Scalars must not have.
	Reserved []string
	// Default is the value that applies if the field is omitted. It is information for the
	// model.
	Default any
}

// Fields are the arguments of a tool, the required ones first.
type Fields []Field

// Schema returns the JSON Schema (2020-12) of the arguments. It panics if a Default cannot be
// encoded.
func (f Fields) Schema() json.RawMessage { return f.schema(false) }

// OpenSchema is Schema for a tool that accepts further arguments, whose values are strings,
// numbers, true or false. Use ReadOpen with it.
func (f Fields) OpenSchema() json.RawMessage { return f.schema(true) }

func (f Fields) schema(open bool) json.RawMessage {
	properties, required := map[string]any{}, []string{}
	for i := range f {
		properties[f[i].Name] = f[i].schema()
		if f[i].Required {
			required = append(required, f[i].Name)
		}
	}
	s := map[string]any{"type": "object", "properties": properties, "additionalProperties": false}
	if open {
		s["additionalProperties"] = scalar
	}
	if len(required) > 0 {
		s["required"] = required
	}
	b, err := json.Marshal(s)
	if err != nil {
		panic(fmt.Sprintf("args: %v", err))
	}
	return b
}

// scalar lists its types one by one, because some model providers reject an array of types.
var scalar = map[string]any{"anyOf": []map[string]any{{"type": "string"}, {"type": "number"}, {"type": "boolean"}}}

// notBlank is a pattern that matches non-blank texts.
const notBlank = `\S`

func (f *Field) schema() map[string]any {
	s := map[string]any{}
	switch f.Kind {
	case Text:
		f.text(s)
	case Number, Whole:
		s["type"] = map[Kind]string{Number: "number", Whole: "integer"}[f.Kind]
		if f.Min != 0 || f.Max != 0 {
			s["minimum"], s["maximum"] = f.Min, f.Max
		}
	case Flag:
		s["type"] = "boolean"
	case Object:
		s["type"] = "object"
	case Scalars:
		s["type"], s["additionalProperties"] = "object", scalar
		if len(f.Reserved) > 0 {
			s["propertyNames"] = map[string]any{"not": map[string]any{"enum": f.Reserved}}
		}
	case Texts:
		item := map[string]any{}
		f.text(item)
		s["type"], s["items"], s["maxItems"] = "array", item, maxTexts
	}
	if f.Description != "" {
		s["description"] = f.Description
	}
	if f.Default != nil {
		s["default"] = f.Default
	}
	return s
}

// maxTexts is the largest number of texts in an array.
const maxTexts = 64

func (f *Field) text(s map[string]any) {
	s["type"] = "string"
	if f.Max > 0 {
		s["maxLength"] = int(f.Max)
	}
	if len(f.Enum) > 0 {
		s["enum"] = f.Enum
	} else {
		s["pattern"] = notBlank
	}
}
