// Package dialect is the wire shapes over HTTP, in both directions: operations in,
// frames and errors out.
//
// The dialects of v1.0 are at its heart. D1 is JSON-RPC: [Decoder.Call] reads the envelope,
// [Lookup] finds the operation, and the Decoder's method of that name reads the
// params. D2 is HTTP+JSON: the methods whose names end in At read what a path, a
// query and a body say. Both give the same values of package op, and both are
// answered by the same encoders; an [Envelope] stands around the results of D1.
//
// Every further dialect is a [Shape]: it turns its own params into those of v1.0, and
// results and frames of v1.0 into its own, as text. [Recognize] tells the dialects of
// JSON-RPC apart. Errors go through [Explain] in every dialect: there is one table, and
// only this package knows codes; [Shape.Adapt] gives the few that differ.
//
// A hub that calls others speaks the other way round: [Shape.AppendParams] writes the
// params of a call in the dialect of a peer, and [Shape.ReadResult] and
// [Shape.ReadFrame] read what it answers into v1.0. They are the most liberal of all:
// peers mix dialects, and claim versions that they do not speak.
//
// # Guarantees
//
// Decoders are liberal: they take both spellings of a field's name, enums by name
// or number, numbers in strings, null for an absent field, and ignore fields that
// they do not know. Encoders are exact. Each error of a decoder says which field
// it is about, and nothing that was refused has any effect.
//
// The id of a JSON-RPC request is written back byte for byte. Values of package op
// share no memory with the request; only a [Call] does.
//
// The text of an error reaches a caller only if it was written for callers.
// Everything else leaves as "internal error" with a reference.
//
// # What it does not promise
//
// Decoders do not know tasks or agents: whether a task exists, a media type is
// accepted or two names of an agent agree is for the engine to say.
//
// # Concurrency
//
// All functions are pure. A Decoder may be used by any number of goroutines.
//
// # Testing
//
// Each decoder has a fuzz target. Whatever the encoders of a dialect write of random
// events, its reader for callers reads back, and the other way round. What the encoders write is read back by the
// SDK's types and by ProtoJSON. A test walks the error table in both directions and
// fails when a sentinel has no row.
package dialect
