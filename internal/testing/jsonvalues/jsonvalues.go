// Package jsonvalues puts every kind of JSON value in the place of every member of a sample, for tests of
// code that reads the JSON of others.
//
// # Guarantees
//
// Each Variant differs from the sample in one member, and names it. All are valid JSON.
//
// # Non-guarantees
//
// Members that the sample does not have are not added. The order of the variants is not defined.
package jsonvalues

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

// Values are one of each kind of JSON, and those at which readers break.
var Values = []string{
	`null`, `true`, `false`, `0`, `-1`, `1.5`, `999.0`, `1e400`, `-9223372036854775809`, `12345678901234567890`,
	`""`, `"x"`, `"\ud83d"`, `"\u0000"`, `[]`, `[null]`, `[[[[]]]]`, `{}`, `{"":{"a":[{}]}}`,
	strings.Repeat("[", 90) + strings.Repeat("]", 90), strings.Repeat(`{"a":`, 200) + "1" + strings.Repeat("}", 200),
}

// Variant is a sample with another value in the place of one member.
type Variant struct {
	// Path names the member, such as .parts[0].text. Value is its new value.
	Path, Value string
	// JSON is the whole.
	JSON string
}

// Variants puts every value in the place of every member and element of a sample.
func Variants(tb testing.TB, sample string) []Variant {
	tb.Helper()
	var root any
	if err := json.Unmarshal([]byte(sample), &root); err != nil {
		tb.Fatal(err)
	}
	var all []Variant
	const mark = "\x01mark"
	var walk func(path string, v any, set func(any))
	walk = func(path string, v any, set func(any)) {
		set(mark)
		text, err := json.Marshal(root)
		if err != nil {
			tb.Fatal(err)
		}
		set(v)
		quoted, _ := json.Marshal(mark)
		for _, value := range Values {
			all = append(all, Variant{path, value, string(bytes.Replace(text, quoted, []byte(value), 1))})
		}
		switch v := v.(type) {
		case map[string]any:
			for name, inner := range v {
				walk(path+"."+name, inner, func(x any) { v[name] = x })
			}
		case []any:
			for i, inner := range v {
				walk(fmt.Sprintf("%s[%d]", path, i), inner, func(x any) { v[i] = x })
			}
		}
	}
	walk("", root, func(x any) { root = x })
	return all
}
