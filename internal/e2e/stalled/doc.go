// Package stalled holds the tests of callers that take their time, or all of the memory: they stop
// reading, send slowly, or send much at once. Each hub runs in the process, because the tests
// choose time limits that the command does not have and measure the heap.
//
// # Guarantees
//
// The tests fail if such a caller costs another one an answer, an event or a task; if the heap
// grows with what a reader has not read; if a connection is not closed when its time is over; or
// if a hub does not end beside stalled readers.
//
// # Non-guarantees
//
// Package hostile tests which requests are refused, package isolation what other callers see.
// The semantics of streams, versions and errors are tested in internal/engine, their encoding by
// the transcripts of internal/front/httpfront and grpcbind.
//
// # Concurrency
//
// Each test has a hub of its own. The tests that measure the heap run alone.
package stalled
