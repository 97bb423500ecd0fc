package yamlfile

import (
	"reflect"
	"strings"

	"github.com/parley-a2a/parley/internal/suggest"
)

// Fields are the fields of a struct that have keys, in order.
type Fields []reflect.StructField

// FieldsOf returns the fields of t that a file can set.
func FieldsOf(t reflect.Type) Fields {
	var fs Fields
	for _, f := range reflect.VisibleFields(t) {
		if name := f.Tag.Get("yaml"); name != "" && name != "-" {
			fs = append(fs, f)
		}
	}
	return fs
}

// keyedFields returns the fields of v and of its extensions, and the struct of each key.
func keyedFields(v reflect.Value) (fs Fields, structs map[string]reflect.Value) {
	all := []reflect.Value{v}
	if x, ok := v.Addr().Interface().(Extended); ok {
		for _, p := range x.Extensions() {
			all = append(all, reflect.ValueOf(p).Elem())
		}
	}
	structs = make(map[string]reflect.Value)
	for _, s := range all {
		for _, f := range FieldsOf(s.Type()) {
			fs = append(fs, f)
			structs[f.Tag.Get("yaml")] = s
		}
	}
	return fs, structs
}

// Find returns the field with a key.
func (fs Fields) Find(name string) (reflect.StructField, bool) {
	for _, f := range fs {
		if f.Tag.Get("yaml") == name {
			return f, true
		}
	}
	return reflect.StructField{}, false
}

// keys returns the keys of fs.
func (fs Fields) keys() []string {
	var keys []string
	for _, f := range fs {
		keys = append(keys, f.Tag.Get("yaml"))
	}
	return keys
}

// Suggest returns a question that suggests a key similar to name, or nothing.
func (fs Fields) Suggest(name string) string {
	best := suggest.Nearest(name, fs.keys())
	if best == "" {
		return ""
	}
	return "; did you mean " + best + "?"
}

// find returns the field of fs with a key, in a script also by its camelCase name.
func (d *Decoder) find(fs Fields, name string) (reflect.StructField, bool) {
	f, ok := fs.Find(name)
	if ok || !d.script {
		return f, ok
	}
	for _, f := range fs {
		if camel(f.Tag.Get("yaml")) == name {
			return f, true
		}
	}
	return f, false
}

// camel returns a key in camelCase.
func camel(key string) string {
	first, rest, ok := strings.Cut(key, "_")
	if !ok || rest == "" {
		return key
	}
	return first + strings.ToUpper(rest[:1]) + camel(rest[1:])
}

// suggest is Suggest, and also suggests the same key in another place of the file. In a script it
// suggests keys with the same beginning, or all keys if there are none.
func (d *Decoder) suggest(fs Fields, name string) string {
	if question := fs.Suggest(name); question != "" {
		return question
	}
	if !d.script {
		return d.misplaced(name)
	}
	keys := fs.keys()
	for _, key := range keys {
		if len(name) > 2 && strings.HasPrefix(key, name[:3]) {
			return "; did you mean " + key + "?"
		}
	}
	return "; possible are " + strings.Join(keys, ", ")
}

// PlainKey normalises the spelling of a key for comparisons.
func PlainKey(s string) string {
	return strings.ToLower(strings.NewReplacer("_", "", "-", "").Replace(s))
}
