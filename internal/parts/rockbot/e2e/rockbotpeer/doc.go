// Package rockbotpeer implements RockBot's side of its RabbitMQ exchange for tests: its record
// types, its serializer, its envelopes and the queues that its processes declare.
//
// # Overview
//
// [Decode] decodes a body like System.Text.Json with RockBot's options (camelCase,
// case-insensitive names, no JsonStringEnumConverter) and returns a [*JSONException] where
// RockBot would throw one. [Encode] writes the same JSON as RockBot. Four peers use them: an
// [Agent] as created by AddA2A, a [Caller] like RockBot's primary agent, [Announce], and a
// [Tap], which is a queue bound to every topic.
//
// The README of the parent folder lists the facts with their sources.
//
// # Guarantees
//
// A body that a program of RockBot could not read is refused, with the path that .NET names. A
// message whose handler fails is dead-lettered, as in RockBot.
//
// # Non-guarantees
//
// The exception texts for bytes that are not JSON differ from those of .NET.
package rockbotpeer
