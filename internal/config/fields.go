package config

import (
	"reflect"
	"strings"
)

// fields are the keys of a struct with their fields, in order.
type fields []reflect.StructField

// fieldsOf returns the fields of t that a file can set.
func fieldsOf(t reflect.Type) fields {
	var fs fields
	for _, f := range reflect.VisibleFields(t) {
		if name := f.Tag.Get("yaml"); name != "" && name != "-" {
			fs = append(fs, f)
		}
	}
	return fs
}

func (fs fields) find(name string) (reflect.StructField, bool) {
	for _, f := range fs {
		if f.Tag.Get("yaml") == name {
			return f, true
		}
	}
	return reflect.StructField{}, false
}

// suggest returns a question for the key that name may have been meant as, or
// nothing.
func (fs fields) suggest(name string) string {
	best, least := "", 1+len(name)/3
	for _, f := range fs {
		key := f.Tag.Get("yaml")
		if d := distance(plainKey(name), plainKey(key)); d < least || d == 0 {
			best, least = key, d
		}
	}
	if best == "" {
		return ""
	}
	return "; did you mean " + best + "?"
}

// plainKey makes keys comparable that differ in their way of writing only.
func plainKey(s string) string {
	return strings.ToLower(strings.NewReplacer("_", "", "-", "").Replace(s))
}

// distance is how many letters must be put in, taken out or changed to make b of a.
func distance(a, b string) int {
	const most = 64
	if len(a) > most {
		return len(a)
	}
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
