// Package sqlitestore keeps tasks in one SQLite file.
//
// [Open] opens or creates the file and migrates it to the newest layout. [DB.Tasks] is the
// [task.Store] in it. A program opens a file once and shares the DB. It should hold the lock of
// the data folder (package datadir), although a second process that writes to the file only
// makes both slower.
//
// # Guarantees
//
// An append that returned nil is on the disk: each commit ends with a real fsync, and neither
// the death of the process nor a loss of power undoes it. An append is atomic: its head and its
// entries are stored together or not at all.
//
// Appends that wait at the same time share one commit. One goroutine writes. It takes up to 256
// appends or 4 MiB at once, compares each with the stored head before it stores any part of it,
// and skips the losers. So a conflict of one caller does not affect the others.
//
// A row of 1 MiB or more is written in pieces of 512 KiB, each in a commit of its own, and becomes
// part of the log with the commit of its append: small appends pass it between two pieces. If the
// append is not completed, Sweep deletes the pieces. A second connection checkpoints while large
// rows are written.
//
// Reads never wait for writes, and writes never wait for reads. No read transaction outlives
// the method that began it.
//
// A webhook in an append is stored with it or not at all. The same holds for all positions of
// one call of Advance, which shares the commits of appends. The webhooks with pending
// deliveries are found by an index of their own, so that settled ones cost only space.
//
// A create and a finish with all its events are four rows. The cost of an append does not
// depend on the length of the task, nor that of a page of a list on the number of the owner's
// tasks: lists read one index per agent and state, their totals come from counters that commit
// with the tasks, and no list reads entries. Lists and totals of one context cost in proportion
// to its tasks.
//
// When a commit fails, its changes may or may not be stored. All its callers get
// [task.ErrUnavailable] with the cause, the connection is reopened, and the next commit tries
// again. Therefore the store recovers from a full disk by itself when there is space. Reads
// continue meanwhile.
//
// A file that has lost commits is refused. The store counts its commits, and writes the number
// and its own identity to a second file, the mark, whose name ends with -mark. A file that is
// missing, emptied, older or another one, and a file whose write-ahead log was removed or cut
// off, have less than the mark claims: Open returns a [Loss], changes nothing, and opens the
// rest with Options.AcceptLoss. The mark is written after the commit and without a sync, so that
// it costs little and never claims more than the disk has: a power cut leaves an older mark. If
// it is missing or unreadable, a file with data opens nevertheless. A file that is older than the
// write-ahead log beside it, or whose log belongs to another file, is refused as well, with or
// without a mark: SQLite would mix both.
//
// Each commit examines the open files before its callers are notified. If another program has
// removed, replaced or shortened them, the commit and all later ones return [ErrReplaced]. The
// store then saves the data of the open files, into the file itself or into a copy whose name
// ends with .rescued, so that acknowledged changes survive even this.
//
// # Non-guarantees
//
// Bytes that another program changes inside of the files are found only when they are read, by
// checksums of logs, heads and the data beside them, or by [DB.CheckPages] if the structure of a page
// is affected. Other tables have no checksums. A file that is moved away is noticed up to a quarter of a second later.
//
// The file must be on a local file system with working locks; network file systems have none.
// Sweeping returns space to the file system in small steps, so the file shrinks later than
// tasks are deleted. A task has room for 16,777,215 entries; an append that goes beyond fails.
//
// # Layout
//
// The layout is created by numbered files below schema, each applied once, in order, in one
// transaction. Their checksums are stored in the file. A file that is newer, that belongs to
// another program, or that is damaged is refused with [ErrNewer], [ErrForeign] or [ErrDamaged]
// before it is changed.
//
// # Concurrency
//
// A DB and the stores it returns are safe for concurrent use. Close waits for all accepted
// operations.
//
// # Testing
//
// The package passes the suite of package tasktest. A further test kills a writing process at
// random moments and compares the file with the acknowledged writes. PARLEY_KILLS sets the
// number of kills.
package sqlitestore
