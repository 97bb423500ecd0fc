// Package sqlstore has the parts that the stores over SQLite and over PostgreSQL share: the binary
// forms of stored values, the queue of their writers, and the pool of connections that read.
//
// The binary forms are on the disks of operators: a change of them needs a new first byte or a
// migration in both stores.
//
// A [Queue] and a [Pool] are safe for concurrent use. [Moments] belong to one goroutine. The functions keep no
// state.
package sqlstore
