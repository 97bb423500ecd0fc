// Package a2ajson reads and writes the v1.0 JSON of messages, parts and artifacts
// (specification §4.1 and §5.5).
//
// It has two groups of writers. The appenders ([AppendMessage], [AppendArtifact], [AppendPart],
// [AppendMetadata]) write the SDK's structs. The canonicalisers ([Message], [Artifact]) rewrite
// JSON from callers and agents: they accept all spellings of ProtoJSON and write the one
// spelling that the specification prescribes. Both write one line of valid UTF-8, the form that
// a task's log stores.
//
// The other dialects read their requests with the same tools: a [Schema] iterates over the
// fields of an object, and the Read functions read one value each.
//
// # Guarantees
//
// Reading is liberal. A field may have its camelCase or its snake_case name, an enum its name
// or its number, an integer may be a string, null means that a field is absent, and bytes may
// be standard or URL-safe base64, with or without padding and line ends. Only a part's data may
// be null as a value, if the part has no other content.
//
// Writing is exact: camelCase names, enums by name, padded standard base64. Empty strings and
// empty lists of optional fields are omitted. Unknown fields, the digits of numbers and the
// order of fields are unchanged. Canonicalising twice changes nothing.
//
// A field that occurs twice is refused, even if its second spelling differs. An unknown field
// that differs from a known one only by case is refused as well, because readers would disagree
// about its meaning. The same applies to the names directly inside a metadata object.
//
// Errors of the canonicalisers are an *apierror.Error that wraps a2a.ErrInvalidParams and names
// the field as the caller spelled it, such as "parts[2].raw"; [Under] prepends the path of the
// object. On error dst is returned unchanged.
//
// # Non-guarantees
//
// Free JSON (metadata, data, unknown fields) is passed on without interpretation: duplicate
// names deep inside it stay. The SDK's own decoder refuses a part whose data is null, although
// the protocol allows it.
package a2ajson
