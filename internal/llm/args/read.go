package args

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/parley-a2a/parley/internal/clip"
	"github.com/parley-a2a/parley/internal/json/rawjson"
	"github.com/parley-a2a/parley/internal/suggest"
)

// Values are decoded arguments: string for Text, float64 for Number and Whole, bool for Flag,
// json.RawMessage for Object, map[string]any for Scalars, []string for Texts.
type Values map[string]any

// Text returns a Text, or "" if it was omitted.
func (v Values) Text(name string) string { s, _ := v[name].(string); return s }

// Flag returns a Flag, or false if it was omitted.
func (v Values) Flag(name string) bool { b, _ := v[name].(bool); return b }

// Number returns a number, or otherwise if it was omitted.
func (v Values) Number(name string, otherwise float64) float64 {
	if n, ok := v[name].(float64); ok {
		return n
	}
	return otherwise
}

// Object returns an Object, or nil if it was omitted.
func (v Values) Object(name string) json.RawMessage { o, _ := v[name].(json.RawMessage); return o }

// Scalars returns Scalars, or nil if they were omitted.
func (v Values) Scalars(name string) map[string]any { m, _ := v[name].(map[string]any); return m }

// Texts returns Texts, or nil if they were omitted.
func (v Values) Texts(name string) []string { l, _ := v[name].([]string); return l }

// Error describes wrong arguments to a model.
type Error struct {
	// Problems lists the mistakes. Each one names its field.
	Problems []string
	// Fields describes all arguments of the tool.
	Fields string
}

// maxProblems is the largest number of problems in one error.
const maxProblems = 5

// Error implements error.
func (e *Error) Error() string {
	p := e.Problems
	if len(p) > maxProblems {
		p = append(slices.Clone(p[:maxProblems]), fmt.Sprintf("%d further arguments are wrong", len(p)-maxProblems))
	}
	return "The arguments are not right: " + strings.Join(p, "; ") + ". " + e.Fields
}

// Read returns the arguments in raw. Empty input means an empty object. The error is an *Error.
func (f Fields) Read(raw json.RawMessage) (Values, error) {
	v, rest, err := f.read(raw)
	if err == nil && len(rest) == 0 {
		return v, nil
	}
	problems := problemsOf(err)
	for _, m := range rest {
		problems = append(problems, f.unknown(m.name))
	}
	return nil, &Error{problems, f.words(false)}
}

// ReadOpen is Read for a tool that accepts further arguments, which it returns in further.
func (f Fields) ReadOpen(raw json.RawMessage) (v Values, further map[string]any, err error) {
	v, rest, err := f.read(raw)
	problems := problemsOf(err)
	for _, m := range rest {
		value, wrong := readScalar(m.value)
		switch {
		case wrong != "" && f.near(m.name) != "":
			problems = append(problems, f.unknown(m.name))
		case wrong != "":
			problems = append(problems, fmt.Sprintf("%s is a further argument, and %s", quote(m.name), wrong))
		default:
			if further == nil {
				further = make(map[string]any)
			}
			further[m.name] = value
		}
	}
	if len(problems) > 0 {
		return nil, nil, &Error{problems, f.words(true)}
	}
	return v, further, nil
}

func problemsOf(err error) []string {
	var e *Error
	if errors.As(err, &e) {
		return e.Problems
	}
	return nil
}

// member is a member of an object.
type member struct {
	name  string
	value json.RawMessage
}

// read returns the values of the fields, and the members that belong to no field.
func (f Fields) read(raw json.RawMessage) (Values, []member, error) {
	members, wrong := membersOf(raw)
	if wrong != "" {
		return nil, nil, &Error{[]string{wrong}, ""}
	}
	v, seen := Values{}, map[string]bool{}
	var rest []member
	var problems []string
	for _, m := range members {
		at := slices.IndexFunc(f, func(f Field) bool { return f.Name == m.name })
		switch {
		case seen[m.name]:
			problems = append(problems, quote(m.name)+" is there twice")
		case at < 0:
			rest = append(rest, m)
		default:
			value, wrong := f[at].read(m.value)
			if wrong != "" {
				problems = append(problems, fmt.Sprintf("%q %s", m.name, wrong))
			} else if value != nil {
				v[m.name] = value
			}
		}
		seen[m.name] = true
	}
	for i := range f {
		if f[i].Required && !seen[f[i].Name] {
			problems = append(problems, fmt.Sprintf("%q is missing", f[i].Name))
		}
	}
	if len(problems) > 0 {
		return nil, rest, &Error{problems, ""}
	}
	return v, rest, nil
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
		return nil, "they are " + kindOf(raw) + "; send one JSON object, not packed in anything"
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

// read returns the value of a field, or a description of the problem. It treats null as
// omitted, unless the field is required.
func (f *Field) read(raw json.RawMessage) (value any, wrong string) {
	if string(raw) == "null" && !f.Required {
		return nil, ""
	}
	switch f.Kind {
	case Text:
		return f.readText(raw)
	case Number, Whole:
		return f.readNumber(raw)
	case Flag:
		return f.readFlag(raw)
	case Object:
		if raw[0] != '{' {
			return nil, mustBe("a JSON object", raw)
		}
		return raw, ""
	case Scalars:
		return f.readScalars(raw)
	default:
		return f.readTexts(raw)
	}
}

func (f *Field) readText(raw json.RawMessage) (any, string) {
	var s string
	if raw[0] != '"' || json.Unmarshal(raw, &s) != nil {
		return nil, mustBe("a string", raw)
	}
	return f.checkText(s)
}

func (f *Field) checkText(s string) (any, string) {
	switch {
	case len(f.Enum) > 0 && !slices.Contains(f.Enum, s):
		return nil, "must be one of " + strings.Join(f.Enum, ", ") + ", not " + quote(s) + meant(s, f.Enum)
	case len(f.Enum) == 0 && !shows(s):
		return nil, "must not be empty"
	case f.Max > 0 && utf8.RuneCountInString(s) > int(f.Max):
		return nil, fmt.Sprintf("has %d characters; the maximum is %d", utf8.RuneCountInString(s), int(f.Max))
	}
	return s, ""
}

// shows reports whether a text is not blank.
func shows(s string) bool {
	return strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsSpace(r) })
}

func (f *Field) readNumber(raw json.RawMessage) (any, string) {
	var n float64
	if raw[0] != '-' && (raw[0] < '0' || raw[0] > '9') {
		return nil, mustBe("a number", raw)
	}
	if json.Unmarshal(raw, &n) != nil {
		return nil, "is too large a number: " + clip.Fit(string(raw), maxQuote)
	}
	switch {
	case f.Kind == Whole && n != math.Trunc(n):
		return nil, "must be a whole number, not " + quote(string(raw))
	case (f.Min != 0 || f.Max != 0) && (n < f.Min || n > f.Max):
		return nil, fmt.Sprintf("must be from %v to %v, not %s", f.Min, f.Max, clip.Fit(string(raw), maxQuote))
	}
	return n, ""
}

func (f *Field) readFlag(raw json.RawMessage) (any, string) {
	var b bool
	if raw[0] == 'n' || json.Unmarshal(raw, &b) != nil {
		return nil, mustBe("true or false", raw)
	}
	return b, ""
}

func (f *Field) readScalars(raw json.RawMessage) (any, string) {
	if raw[0] != '{' {
		return nil, mustBe("a JSON object of strings, numbers and true or false", raw)
	}
	members, wrong := membersOf(raw)
	if wrong != "" {
		return nil, wrong
	}
	values := make(map[string]any, len(members))
	for _, m := range members {
		if slices.Contains(f.Reserved, m.name) {
			return nil, "must not have the key " + quote(m.name) + ", which is not for you to set"
		}
		value, wrong := readScalar(m.value)
		if wrong != "" {
			return nil, "has the key " + quote(m.name) + ", which " + wrong
		}
		values[m.name] = value
	}
	return values, ""
}

// readScalar returns a string, a json.Number or a bool.
func readScalar(raw json.RawMessage) (any, string) {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var v any
	if d.Decode(&v) != nil {
		return nil, "cannot be read"
	}
	switch v.(type) {
	case string, json.Number, bool:
		return v, ""
	}
	return nil, mustBe("a string, a number, true or false", raw)
}

func (f *Field) readTexts(raw json.RawMessage) (any, string) {
	var items []json.RawMessage
	if raw[0] != '[' || json.Unmarshal(raw, &items) != nil {
		return nil, mustBe("an array of strings", raw)
	}
	if len(items) > maxTexts {
		return nil, fmt.Sprintf("has %d entries; the maximum is %d", len(items), maxTexts)
	}
	texts := make([]string, 0, len(items))
	for i, item := range items {
		s, wrong := f.readText(item)
		if wrong != "" {
			return nil, fmt.Sprintf("has the entry %d, which %s", i, wrong)
		}
		texts = append(texts, s.(string))
	}
	return texts, ""
}

// mustBe describes the required and the actual kind of a value.
func mustBe(want string, raw json.RawMessage) string {
	return "must be " + want + ", not " + kindOf(raw)
}

// kindOf describes the kind of a valid value.
func kindOf(raw json.RawMessage) string {
	switch raw[0] {
	case '{':
		return "an object"
	case '[':
		return "an array"
	case 't', 'f':
		return string(raw)
	case 'n':
		return "null"
	case '"':
		var s string
		if json.Unmarshal(raw, &s) == nil && holdsJSON(s) {
			return "a string that holds JSON: leave out the quotes around it"
		}
		return "a string"
	}
	return "a number"
}

// holdsJSON reports whether a text is a JSON object or array.
func holdsJSON(s string) bool {
	s = strings.TrimSpace(s)
	return s != "" && (s[0] == '{' || s[0] == '[') && json.Valid([]byte(s))
}

// unknown describes an unknown argument, and suggests a similar name.
func (f Fields) unknown(name string) string {
	return "there is no argument " + quote(name) + meant(name, f.names())
}

func (f Fields) near(name string) string { return suggest.Nearest(name, f.names()) }

func meant(word string, words []string) string {
	if near := suggest.Nearest(word, words); near != "" {
		return fmt.Sprintf(" (did you mean %q?)", near)
	}
	return ""
}

func (f Fields) names() []string {
	names := make([]string, len(f))
	for i := range f {
		names[i] = f[i].Name
	}
	return names
}

var kindWords = [...]string{"string", "number", "whole number", "true or false", "object", "object of plain values", "array of strings"}

// words lists the arguments in words.
func (f Fields) words(open bool) string {
	if len(f) == 0 && !open {
		return "There are no arguments: send {}."
	}
	words := make([]string, len(f))
	for i := range f {
		words[i] = f[i].Name + " (" + kindWords[f[i].Kind]
		if f[i].Required {
			words[i] += ", required"
		}
		words[i] += ")"
	}
	if open {
		words = append(words, "and others whose values are plain")
	}
	return "The arguments are " + strings.Join(words, ", ") + "."
}

// quote returns a shortened, quoted text of a model.
func quote(s string) string { return fmt.Sprintf("%q", clip.Fit(s, maxQuote)) }

const maxQuote = 60
