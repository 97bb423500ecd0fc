package yamlfile

import (
	"reflect"
	"strings"

	"github.com/parley-a2a/parley/internal/suggest"
)

// Fields are the keys of a struct with their fields, in order.
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

// Find returns the field with a key.
func (fs Fields) Find(name string) (reflect.StructField, bool) {
	for _, f := range fs {
		if f.Tag.Get("yaml") == name {
			return f, true
		}
	}
	return reflect.StructField{}, false
}

// Suggest returns a question for the key that name may have been meant as, or
// nothing.
func (fs Fields) Suggest(name string) string {
	var keys []string
	for _, f := range fs {
		keys = append(keys, f.Tag.Get("yaml"))
	}
	best := suggest.Nearest(name, keys)
	if best == "" {
		return ""
	}
	return "; did you mean " + best + "?"
}

// PlainKey makes keys comparable that differ in their way of writing only.
func PlainKey(s string) string {
	return strings.ToLower(strings.NewReplacer("_", "", "-", "").Replace(s))
}
