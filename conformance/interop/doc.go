// Package interop holds Parley against the official SDKs, as strangers on the other
// side of a socket.
//
// # What it is
//
// The tests build the real binary, start it with its built-in agents, and let the
// official clients speak to it: the Go SDK and the JavaScript SDK, each over every
// binding that it offers, each finding the agents by their cards. All of them go
// through one table of scenarios; a scenario is a subtest with the name
// client/binding/scenario. Webhooks that they register are told what happens, and what
// they are told is read by the types of the SDK. In the other direction, servers made with the Go SDK are
// called by the command.
//
// The SDKs are pinned and untouched: the Go SDK by go.mod, the JavaScript SDK by
// js/package-lock.json. The module is one of its own, so that nobody who uses Parley
// inherits them.
//
// # What it does not promise
//
// The tests show that the SDKs understand Parley, not that Parley follows every rule
// of the specification; the suites beside this one do that.
//
// # Running
//
//	cd conformance/interop && (cd js && npm ci) && go test ./...
//
// Without Node or without js/node_modules the scenarios of the JavaScript SDK are
// skipped, and fail where PARLEY_CI=1.
package interop
