package yamlfile

import (
	"reflect"
	"slices"
	"strings"
)

// maxPlaces is the largest number of places that a problem names for a misplaced key. Keys such as
// name, which are in many places, get no hint.
const maxPlaces = 3

// misplaced returns a question that names the other places of a key in the file, or nothing.
func (d *Decoder) misplaced(name string) string {
	if d.root == nil || d.script {
		return ""
	}
	places := placesOf(PlainKey(name), d.root, "", nil)
	if len(places) == 0 || len(places) > maxPlaces {
		return ""
	}
	return "; did you mean " + strings.Join(places, " or ") + "?"
}

// placesOf returns the paths of the keys below t, at key, whose plain spelling is name. above are the
// types around t: a type inside of itself is not searched again.
func placesOf(name string, t reflect.Type, key string, above []reflect.Type) []string {
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice {
		if t.Kind() == reflect.Slice {
			key += "[]"
		}
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct || slices.Contains(above, t) {
		return nil
	}
	above = append(slices.Clone(above), t)
	var places []string
	fields, _ := keyedFields(reflect.New(t).Elem())
	for _, f := range fields {
		tag := f.Tag.Get("yaml")
		at := Join(key, tag)
		if PlainKey(tag) == name {
			places = append(places, at)
		}
		places = append(places, placesOf(name, f.Type, at, above)...)
	}
	return places
}
