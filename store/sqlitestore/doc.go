// Package sqlitestore keeps tasks in one SQLite file.
//
// [Open] opens or makes the file and brings it to the newest layout. [DB.Tasks] is
// the [task.Store] in it. A program opens a file once and shares the DB; it should
// hold the lock of the data folder (package datadir), although a second process
// that writes to the file does no harm beyond making both slower.
//
// # Guarantees
//
// An append that returned nil is on the disk: each commit ends with a real fsync,
// and neither the death of the process nor a loss of power takes it back. An append
// is atomic: its head and its entries are stored together or not at all.
//
// Appends that wait at the same time share one commit. One goroutine writes; it
// takes up to 256 appends or 4 MiB at once, compares each with the stored head
// before it stores anything of it, and skips the losers. So one caller's conflict
// costs another nothing.
//
// Reading never waits for writing, and writing never waits for reading. No read
// transaction outlives the method that began it.
//
// A webhook that comes with an append is stored with it or not at all, and so are all
// positions of one call of Advance, which share the commits of appends. The webhooks
// that have something to tell are found by an index of their own, so that settled ones
// cost nothing but room.
//
// A create and a finish with all its events are four rows. The cost of an append
// does not depend on how long the task is, nor that of a page of a list on how
// many tasks the owner has: lists read one index per agent and state, their totals
// come from counters that commit with the tasks, and no list reads entries. Lists
// and totals of one context cost as much as the context has tasks.
//
// When a commit fails, what was in it may or may not be stored. All its callers get
// [task.ErrUnavailable] with the cause, the connection is opened anew, and the next
// commit tries again. A full disk therefore heals by itself when there is space.
// Reading goes on meanwhile.
//
// # What it does not promise
//
// The file must be on a local file system with working locks; network file systems
// have none. Sweeping gives space back to the file system in small steps, so the
// file shrinks later than tasks are deleted. A task has room for 16,777,215 entries;
// an append that goes beyond fails.
//
// # Layout
//
// The layout is made by numbered files below schema, each applied once, in order,
// in one transaction. Their checksums are kept in the file. A file that is newer,
// that belongs to another program, or that is damaged is refused with [ErrNewer],
// [ErrForeign] or [ErrDamaged] before anything is written to it.
//
// # Concurrency
//
// A DB and what it hands out are safe for concurrent use. Close waits for
// everything that was accepted.
//
// # Testing
//
// The package passes the suite of package tasktest, and a test that kills a writing
// process at random moments and compares what is left with what was acknowledged.
// PARLEY_KILLS sets how often.
package sqlitestore
