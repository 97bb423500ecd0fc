// Package structjson writes and reads the JSON of structs without reflection. A [Table] names
// the members of a struct once, in the order in which they are written, with a function for
// each that says where it is.
//
//	var letters = structjson.Of(
//		structjson.Text("id", func(l *Letter) *string { return &l.ID }).Always(),
//		structjson.Int("seq", func(l *Letter) *int64 { return &l.Seq }),
//	)
//
// # Guarantees
//
// What a table writes has the bytes that encoding/json writes with SetEscapeHTML(false) for
// tags of the same names, with omitempty but for members that are [Member.Always] there. What
// a table reads is what encoding/json reads.
//
// Both give up where something is unusual, and say so: strings that are not UTF-8, raw values
// that are not JSON or nested deeper than MaxDepth, members that come twice, in other letters,
// as null or as something else than they are. Their user asks encoding/json then, which alone
// decides what becomes of it, and whose errors are those that people see. So there is one
// meaning, and a quicker way to it.
//
// # What it does not promise
//
// Raw values that were read alias what they were read from, which must not change any more.
// Read is for a struct that is zero, and for JSON that [rawjson.Check] has accepted.
//
// # Concurrency
//
// A Table does not change and may be used by many goroutines.
//
// # Testing
//
// The package is fuzzed against encoding/json, and so are those that use it with tables of
// their own: what a table has forgotten is found there.
package structjson
