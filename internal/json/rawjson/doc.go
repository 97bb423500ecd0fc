// Package rawjson reads and writes JSON text as bytes, without decoding it into
// Go values.
//
// Parley passes messages and artifacts on exactly as their authors wrote them:
// unknown fields, the order of members and every digit of a number. So it checks
// JSON once, when it comes in ([Check]), makes it compact ([AppendCompact]), and
// from then on only finds the few members that it needs ([Fields], [Elements]).
//
// # Guarantees
//
// Check accepts what RFC 8259 calls a JSON text, and of that only valid UTF-8
// without unpaired surrogate escapes, nested no deeper than the caller allows.
// Whatever passed Check can be handed to any JSON parser.
//
// Raw values that Fields and Elements yield alias their argument. Strings are
// copies.
//
// # What it does not promise
//
// The functions other than Check expect valid JSON. Given something else they
// return nonsense, but they never panic and never read outside of it. Duplicate
// names in an object are not refused; they are yielded as they stand.
//
// # Concurrency
//
// All functions are pure.
//
// # Testing
//
// The package is fuzzed against encoding/json.
package rawjson
