// Package a2ajson reads and writes the v1.0 JSON of messages, parts and
// artifacts (specification §4.1 and §5.5).
//
// There are two ways in. The appenders ([AppendMessage], [AppendArtifact],
// [AppendPart], [AppendMetadata]) write the SDK's structs. The canonicalisers
// ([Message], [Artifact]) rewrite JSON that somebody else wrote: they read
// whatever ProtoJSON allows and write the one spelling that the specification
// prescribes. Both give one line of valid UTF-8, which is what a task's log
// stores.
//
// Further dialects read their requests with the same tools: a [Schema] walks over
// the fields of an object, and the Read functions read one value each.
//
// # Guarantees
//
// Reading is liberal. A field may have its camelCase or its snake_case name, an
// enum its name or its number, an integer may stand in a string, null means that a
// field is absent, and bytes may be standard or URL-safe base64, with or without
// padding. The one null that counts is a part's data.
//
// Writing is exact: camelCase names, enums by name, padded standard base64. Empty
// strings and empty lists of optional fields are left out. Unknown fields and the
// digits of numbers stay as they came, and so does the order of fields.
// Canonicalising twice changes nothing.
//
// A field that is given twice is refused, also when it has another spelling the
// second time, and so is an unknown field that differs from a known one by case
// alone: readers would disagree about what it means. The same goes for the names
// directly inside a metadata object.
//
// Errors of the canonicalisers are a *fault.Error that wraps
// a2a.ErrInvalidParams and names the field as the caller wrote it, such as
// "parts[2].raw"; [Under] puts the path of the object in front. On an error dst is
// returned as it was.
//
// # What it does not promise
//
// Free JSON (metadata, data, unknown fields) is passed on, not understood: names
// given twice deep inside it stay. The SDK's own decoder refuses a part whose data
// is null, although the protocol allows it.
//
// # Concurrency
//
// All functions are pure; a Schema is immutable. The appenders read the structs
// that they are given, which must not change meanwhile.
//
// # Testing
//
// The canonicalisers are fuzzed: what they accept is valid, stays the same when
// it is canonicalised again, and decodes into the SDK's types.
package a2ajson
