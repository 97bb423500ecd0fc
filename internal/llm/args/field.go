package args

import (
	"encoding/json"
	"fmt"
)

// Kind is what a value looks like.
type Kind uint8

// The kinds of values.
const (
	// Text is a string that is not blank.
	Text Kind = iota
	// Number is a number.
	Number
	// Whole is a number without a fraction.
	Whole
	// Flag is true or false.
	Flag
	// Object is a JSON object of any content.
	Object
	// Scalars is a JSON object whose values are strings, numbers, true or false.
	Scalars
	// Texts is an array of strings that are not blank.
	Texts
)

// Field is one argument.
type Field struct {
	Name string
	Kind Kind
	// Required fields must be there.
	Required bool
	// Description tells the model what to put there.
	Description string
	// Min and Max bound a number; both zero mean any number. Max bounds the length of a
	// Text or of each of Texts in characters; zero means any length.
	Min, Max float64
	// Enum lists all texts that are allowed; empty means any.
	Enum []string
	// Reserved are keys that Scalars must not have.
	Reserved []string
	// Default is the value that counts if the field is left out, for the model to know.
	Default any
}

// Fields are the arguments of a tool, the required ones first.
type Fields []Field

// Schema returns the JSON Schema (2020-12) of the arguments. It panics if a Default cannot
// be written.
func (f Fields) Schema() json.RawMessage { return f.schema(false) }

// OpenSchema is Schema for a tool that takes further arguments, whose values are strings,
// numbers, true or false. They are for ReadOpen.
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

// scalar lists its types one by one: some providers of models refuse an array of types.
var scalar = map[string]any{"anyOf": []map[string]any{{"type": "string"}, {"type": "number"}, {"type": "boolean"}}}

// notBlank is a pattern of texts that have something to show.
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

// maxTexts is how many texts an array may have.
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
