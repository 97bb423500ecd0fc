package rockbotpeer

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"strconv"
	"strings"
)

// JSONException is the exception of System.Text.Json.
type JSONException struct{ Text string }

// Error returns the text in the form of .NET.
func (e *JSONException) Error() string { return e.Text }

// maxDepth is JsonSerializerOptions.MaxDepth.
const maxDepth = 64

// Decode decodes body into one of the records, like JsonSerializer.Deserialize with RockBot's
// options. into is a pointer to a record.
func Decode(body []byte, into any) error {
	rec, ok := into.(record)
	if !ok {
		return fmt.Errorf("rockbotpeer: %T is not a record of RockBot", into)
	}
	if !json.Valid(body) {
		return &JSONException{invalid(body)}
	}
	if depth(body) > maxDepth {
		return &JSONException{fmt.Sprintf("The maximum configured depth of %d has been exceeded. Cannot read next JSON object.", maxDepth)}
	}
	r := &reader{src: body}
	r.space()
	v := reflect.ValueOf(into).Elem()
	v.SetZero()
	return r.value(v, "$", rec.typeName())
}

// invalid returns an exception text for bytes that are not JSON.
func invalid(body []byte) string {
	var v any
	err := json.NewDecoder(bytes.NewReader(body)).Decode(&v)
	switch {
	case len(bytes.TrimSpace(body)) == 0:
		return "The input does not contain any JSON tokens. Expected the input to start with a valid JSON token, when isFinalBlock is true. Path: $ | LineNumber: 0 | BytePositionInLine: 0."
	case err == nil:
		return "There is data after a single JSON value. Path: $"
	}
	return err.Error() + ". Path: $"
}

func depth(body []byte) (most int) {
	d := json.NewDecoder(bytes.NewReader(body))
	now := 0
	for {
		t, err := d.Token()
		if err != nil {
			return most
		}
		switch t {
		case json.Delim('{'), json.Delim('['):
			now++
			most = max(most, now)
		case json.Delim('}'), json.Delim(']'):
			now--
		}
	}
}

// reader walks over a text that is valid JSON.
type reader struct {
	src []byte
	at  int
}

func (r *reader) space() {
	for r.at < len(r.src) && strings.IndexByte(" \t\r\n", r.src[r.at]) >= 0 {
		r.at++
	}
}

// skip moves behind the value and returns its bytes.
func (r *reader) skip() []byte {
	r.space()
	from := r.at
	var raw json.RawMessage
	d := json.NewDecoder(bytes.NewReader(r.src[from:]))
	if err := d.Decode(&raw); err != nil {
		panic("rockbotpeer: " + err.Error()) // the text was checked
	}
	r.at = from + int(d.InputOffset())
	return r.src[from:r.at]
}

// convert returns the exception for a value at the current position.
func (r *reader) convert(typ, path string) error {
	end := r.at + 1
	if c := r.src[r.at]; c != '{' && c != '[' {
		here := *r
		here.skip()
		end = here.at
	}
	line := bytes.Count(r.src[:end], []byte("\n"))
	column := end - (bytes.LastIndexByte(r.src[:end], '\n') + 1)
	return &JSONException{fmt.Sprintf("The JSON value could not be converted to %s. Path: %s | LineNumber: %d | BytePositionInLine: %d.", typ, path, line, column)}
}

// value reads one value into v, whose .NET type is called typ.
func (r *reader) value(v reflect.Value, path, typ string) error {
	r.space()
	null := bytes.HasPrefix(r.src[r.at:], []byte("null"))
	if rec, ok := v.Addr().Interface().(record); ok {
		return r.object(v, path, rec, null)
	}
	if s, ok := v.Addr().Interface().(*State); ok {
		return r.state(s, path)
	}
	switch v.Kind() {
	case reflect.Pointer:
		if null {
			r.skip()
			return nil
		}
		v.Set(reflect.New(v.Type().Elem()))
		return r.value(v.Elem(), path, typ)
	case reflect.String:
		if r.src[r.at] != '"' {
			return r.convert("System.String", path)
		}
		return json.Unmarshal(r.skip(), v.Addr().Interface())
	case reflect.Bool:
		if c := r.src[r.at]; c != 't' && c != 'f' {
			return r.convert("System.Boolean", path)
		}
		return json.Unmarshal(r.skip(), v.Addr().Interface())
	case reflect.Slice:
		return r.list(v, path, null)
	case reflect.Map:
		return r.dictionary(v, path, null)
	}
	panic("rockbotpeer: a record has a member of type " + v.Type().String())
}

// state reads an enum, which is a number without a JsonStringEnumConverter. Like .NET, it
// accepts numbers that are not states.
func (r *reader) state(s *State, path string) error {
	here := *r
	n, err := strconv.ParseInt(string(here.skip()), 10, 64)
	if err != nil || n < math.MinInt32 || n > math.MaxInt32 {
		return r.convert("RockBot.A2A.AgentTaskState", path)
	}
	*r, *s = here, State(n)
	return nil
}

// object reads the members of a record. Unknown ones are skipped, and the last one of
// duplicates wins.
func (r *reader) object(v reflect.Value, path string, rec record, null bool) error {
	if null {
		r.skip()
		return nil
	}
	if r.src[r.at] != '{' {
		return r.convert(rec.typeName(), path)
	}
	seen := map[string]bool{}
	err := r.members(func(name string) error {
		field, key, ok := fieldOf(v, name)
		if !ok {
			r.skip()
			return nil
		}
		seen[key] = true
		field.SetZero()
		return r.value(field, path+member(name), "")
	})
	if err != nil {
		return err
	}
	var missing []string
	for i := range v.NumField() {
		if key, required := tagOf(v.Type().Field(i)); required && !seen[key] {
			missing = append(missing, "'"+key+"'")
		}
	}
	if missing != nil {
		return &JSONException{fmt.Sprintf("JSON deserialization for type '%s' was missing required properties including: %s.", rec.typeName(), strings.Join(missing, ", "))}
	}
	return nil
}

// member returns a name as part of a path.
func member(name string) string {
	if strings.ContainsAny(name, ". '/\"[]()\t\n\r\f\b\\") {
		return "['" + name + "']"
	}
	return "." + name
}

// members calls f with each name of an object; f reads the value.
func (r *reader) members(f func(name string) error) error {
	r.at++ // {
	for r.space(); r.src[r.at] != '}'; r.space() {
		var name string
		if err := json.Unmarshal(r.skip(), &name); err != nil {
			return err
		}
		r.space()
		r.at++ // :
		r.space()
		if err := f(name); err != nil {
			return err
		}
		r.comma()
	}
	r.at++
	return nil
}

func (r *reader) comma() {
	r.space()
	if r.src[r.at] == ',' {
		r.at++
	}
}

func (r *reader) list(v reflect.Value, path string, null bool) error {
	if null {
		r.skip()
		return nil
	}
	item := v.Type().Elem()
	if r.src[r.at] != '[' {
		return r.convert("System.Collections.Generic.IReadOnlyList`1["+dotNetName(item)+"]", path)
	}
	v.Set(reflect.MakeSlice(v.Type(), 0, 0))
	r.at++
	for r.space(); r.src[r.at] != ']'; r.space() {
		one := reflect.New(item).Elem()
		if err := r.value(one, fmt.Sprintf("%s[%d]", path, v.Len()), ""); err != nil {
			return err
		}
		v.Set(reflect.Append(v, one))
		r.comma()
	}
	r.at++
	return nil
}

// dictionary reads an IReadOnlyDictionary<string,string>.
func (r *reader) dictionary(v reflect.Value, path string, null bool) error {
	if null {
		r.skip()
		return nil
	}
	if r.src[r.at] != '{' {
		return r.convert("System.Collections.Generic.IReadOnlyDictionary`2[System.String,System.String]", path)
	}
	v.Set(reflect.MakeMap(v.Type()))
	return r.members(func(name string) error {
		var text *string
		if err := r.value(reflect.ValueOf(&text).Elem(), path+member(name), ""); err != nil {
			return err
		}
		v.SetMapIndex(reflect.ValueOf(name), reflect.ValueOf(Val(text)))
		return nil
	})
}

func dotNetName(t reflect.Type) string {
	if rec, ok := reflect.New(t).Interface().(record); ok {
		return rec.typeName()
	}
	return "System.String"
}

func tagOf(f reflect.StructField) (key string, required bool) {
	key, rest, _ := strings.Cut(f.Tag.Get("cs"), ",")
	return key, rest == "required"
}

// fieldOf returns the member with a name, compared without case.
func fieldOf(v reflect.Value, name string) (reflect.Value, string, bool) {
	for i := range v.NumField() {
		if key, _ := tagOf(v.Type().Field(i)); strings.EqualFold(key, name) {
			return v.Field(i), key, true
		}
	}
	return reflect.Value{}, "", false
}
