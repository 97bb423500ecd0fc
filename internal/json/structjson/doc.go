// Package structjson writes and reads the JSON of structs without reflection. A [Table] lists
// the members of a struct once, in the order of writing. Each member has a function that
// returns a pointer to its field.
//
//	var letters = structjson.Of(
//		structjson.Text("id", func(l *Letter) *string { return &l.ID }).Always(),
//		structjson.Int("seq", func(l *Letter) *int64 { return &l.Seq }),
//	)
//
// # Guarantees
//
// A table writes the same bytes as encoding/json with SetEscapeHTML(false), for tags of the
// same names with omitempty, except for members that are [Member.Always] written. A table reads
// JSON like encoding/json.
//
// Both functions return false for unusual data: strings that are not UTF-8, raw values that are
// not JSON or nested deeper than MaxDepth, members that occur twice, with different case, as
// null or with another type. The caller then uses encoding/json, which alone decides the result
// and returns the errors that users see. The table is therefore only a faster path with the
// same semantics.
//
// # Non-guarantees
//
// Raw values that were read alias the input, which must not change afterwards. Read requires a
// zero struct, and JSON that [rawjson.Check] has accepted.
//
// # Testing
//
// The package is fuzzed against encoding/json. So are the packages with tables of their own,
// which finds members missing in a table.
package structjson
