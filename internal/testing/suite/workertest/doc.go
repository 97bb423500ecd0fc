// Package workertest is the suite that every worker passes, in any language.
//
// [Run] takes the part of the hub in each transcript of internal/bus/transcripts, whose README describes
// the format, on NATS and on RabbitMQ. The worker is a process, or a goroutine of the test: the suite
// sees its messages on a real broker, and nothing else.
//
// # Guarantees
//
// A worker that passes sends the messages of each transcript in their order, with valid signatures
// required of its hub, and no further message. The suite sees each acknowledgment, and verifies that
// the queue is empty after the end of the worker.
//
// # Non-guarantees
//
// The suite tests no speed, and no lost connection; the tests of internal/e2e/workers do.
//
// # Concurrency
//
// The transcripts run in parallel, each with a worker and a broker, or a virtual host of
// RabbitMQ, of its own.
package workertest
