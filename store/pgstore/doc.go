// Package pgstore keeps the store of a hub in a PostgreSQL database.
//
// [Open] connects, creates or migrates the schema "parley" and takes a lock in the database, so
// that one hub uses it at a time. [DB.Tasks] is the [task.Store] in it; the other stores of a hub
// are in the same schema. The layout has the ideas of package sqlitestore.
//
// # Guarantees
//
// An append that returned nil is durable in the sense of the database: its synchronous_commit is
// on unless the address sets it. An append is atomic: its head, its entries and all data beside
// it are stored together or not at all.
//
// Appends that wait at the same time share one transaction. One goroutine writes, over one
// connection. It takes up to 256 appends or 4 MiB at once. A transaction costs two or three round
// trips, regardless of the number of appends: the statements of all appends are sent without
// waiting for each other. The statement that writes a head compares it with the expected one, so
// that a conflict of one caller does not affect the others.
//
// Reads use connections of their own and never wait for writes.
//
// When a commit fails, its changes may or may not be stored. All its callers get
// [task.ErrUnavailable] with the cause, and the next commit uses a new connection. A connection
// that has ended between two calls, for example because the database was restarted, costs no
// caller an error. Each statement has a time limit in the database, and each call one in the
// client, for a database that stands still.
//
// A hub that has lost its connection writes again only if no other hub has used the database
// since: every Open begins a new epoch. Otherwise all its writes return [ErrInUse].
//
// # Members
//
// With Options.Member, several hubs use the database at the same time, and commit at the same time: a usual
// commit changes no row that another member's commit changes. A job that writes after a read takes a
// lock that other such jobs wait for. A member that stands still within a transaction loses it after half a
// lease at most. A hub whose lease has ended by the clock of the database is lost once another one says so
// with [DB.Lose]: from that commit on, all its writes return [cluster.ErrLost], until [DB.Rejoin]. After
// its commits, a hub names their tasks to the other members in notifications.
//
// # Timeline
//
// A commit stores its moments without positions. They get them before the next read of the timeline, in an
// order that is exact for each task and each hub, and are numbered without gaps.
//
// A database can be one of several of a log: see package shards. It keeps its place in the log, and the home the
// places of owners and the order of the timelines.
//
// The collation of the database has no effect, and texts may contain any bytes, because all texts are
// stored as bytes. The words of notes in their full-text index are the exception: Open refuses a
// database whose encoding is not UTF8 with [ErrEncoding].
//
// # Poolers
//
// Behind a pooler, such as PgBouncer in transaction mode, a connection keeps nothing in a session: each
// transaction begins with the settings, statements are not prepared, and a membership is only a row.
// Options.Direct is an address with sessions, for the lock, the lease and the hints. Without it, a hub must be a
// member and gets no hints, and an id is free again only after the lease of its last process.
//
// # Non-guarantees
//
// Errors never contain the password of an address, but PostgreSQL may log statements.
//
// # Layout
//
// The layout is created by numbered files below schema, each applied once, in order, in one
// transaction. Their checksums are stored. A schema that is newer, or that is not Parley's, is
// refused with [ErrNewer] or [ErrForeign] before it is changed.
//
// # Concurrency
//
// A DB and the stores it returns are safe for concurrent use. Close waits for all accepted
// operations.
//
// # Testing
//
// The package passes the suites of the stores against a real server, and its statements are tested
// over connections that end at each of their bytes, and behind PgBouncer.
package pgstore
