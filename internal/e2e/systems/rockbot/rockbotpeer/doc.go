// Package rockbotpeer is RockBot's side of its RabbitMQ exchange, for tests: its record
// types, its serializer, its envelopes and the queues that its processes declare.
//
// # What it is
//
// [Decode] reads a body as System.Text.Json reads it with RockBot's options (camelCase,
// case-insensitive names, no JsonStringEnumConverter) and returns a [*JSONException] where
// RockBot would throw one. [Encode] writes what RockBot writes. On these stand four peers:
// an [Agent] as AddA2A makes one, a [Caller] as RockBot's primary agent is one, [Announce],
// and a [Tap], which is a queue bound to every topic.
//
// The facts and where they were read are in the README of the folder above.
//
// # Guarantees
//
// A body that a program of RockBot could not read is refused, with the path that .NET names.
// A message whose handler fails goes to the dead letters, as RockBot's does.
//
// # What it does not promise
//
// The texts of exceptions for bytes that are no JSON are not those of .NET.
//
// # Concurrency
//
// Peers are safe for concurrent use. They end with the test.
//
// # Testing
//
// The tests hold the serializer to what System.Text.Json does.
package rockbotpeer
