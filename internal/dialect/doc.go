// Package dialect reads and writes the wire shapes over HTTP: it decodes operations, and
// encodes results, frames and errors.
//
// The dialects of v1.0 are D1 and D2. D1 is JSON-RPC: [Decoder.Call] reads the envelope,
// [Lookup] finds the operation, and the Decoder's method of that name reads the params. D2 is
// HTTP+JSON: the methods whose names end in At read the path, the query and the body. Both
// return the same values of package op, and the same encoders write their answers; an
// [Envelope] wraps the results of D1.
//
// Every other dialect is a [Shape]: it converts its own params into those of v1.0, and results
// and frames of v1.0 into its own, as text. Parts of the program add shapes; a [Dialect] describes
// one, and [Of] returns the description. [Recognize] distinguishes the dialects of JSON-RPC.
// Errors go through [Explain] in every dialect: there is one table, and only this package knows
// codes; [Shape.Adapt] replaces the few codes that differ.
//
// A hub that calls peers uses the other direction: [Shape.AppendParams] writes the params of a
// call in the peer's dialect, and [Shape.ReadResult] and [Shape.ReadFrame] convert the peer's
// answers into v1.0. They are the most liberal readers of all, because peers mix dialects and
// claim versions that they do not implement.
//
// # Guarantees
//
// Decoders are liberal: they accept both spellings of a field's name, enums by name or number,
// numbers in strings, and null for an absent field. They ignore unknown fields. Encoders are
// exact. Each error of a decoder names the field that it is about, and a refused request has no
// effect.
//
// The id of a JSON-RPC request is written back byte for byte. Values of package op share no
// memory with the request; only a [Call] does.
//
// The text of an error reaches a caller only if it was written for callers. Every other error
// is sent as "internal error" with a reference.
//
// # Non-guarantees
//
// Decoders do not know tasks or agents. The engine checks whether a task exists, a media type
// is accepted, and two names of an agent agree.
//
// # Concurrency
//
// All functions are pure. A Decoder may be used by any number of goroutines.
//
// # Testing
//
// Each decoder has a fuzz target. For random events, the output of each dialect's encoders is
// read back by its reader for callers, and the reverse. The SDK's types and ProtoJSON read the
// encoders' output. A test compares the error table with the sentinels in both directions and
// fails when a sentinel has no row.
package dialect
