// Package rawjson reads and writes JSON text as bytes, without decoding it into Go values.
//
// Parley passes messages and artifacts on exactly as their authors wrote them, with unknown
// fields, the order of members and every digit of a number. It checks JSON once, on arrival
// ([Check]), and makes it compact ([AppendCompact]). After that it only looks up the few
// members that it needs ([Fields], [Elements]).
//
// # Guarantees
//
// Check accepts JSON texts of RFC 8259 that are valid UTF-8, have no unpaired surrogate
// escapes, and are nested no deeper than the caller allows. Every JSON parser can read a text
// that passed Check.
//
// Raw values that Fields and Elements yield alias their argument. Strings are copies.
//
// # Non-guarantees
//
// The functions other than Check expect valid JSON. For other input they return undefined
// results, but they never panic and never read out of bounds. Duplicate names in an object are
// not refused; they are yielded unchanged.
package rawjson
