// Package sqlstore has the parts that the stores over SQLite and over PostgreSQL share: the binary
// forms of stored values, and the queue of their writers.
//
// The binary forms are on the disks of operators: a change of them needs a new first byte or a
// migration in both stores.
//
// A [Queue] is safe for concurrent use. [Moments] belong to one goroutine. The functions keep no
// state.
package sqlstore
