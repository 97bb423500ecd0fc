// Package blobstore keeps the large parts of tasks in files, and puts references in their
// place.
//
// # What it is
//
// A [Store] is a folder of contents by the SHA-256 of their bytes. A [Keeper] reads the
// v1.0 JSON of messages and artifacts: [Keeper.Shed] stores the bytes of parts that are
// large and leaves a part with a url; [Keeper.Fill] puts the bytes back for executors.
//
// # Guarantees
//
// A content belongs to the task that has it: each task has references of its own, and
// nobody gets a content but by a reference. The same bytes in several tasks of one owner
// are one file. Those of another owner are another file, even if they are the same, so that
// nobody learns from the time that storing takes what others have.
//
// What [Store.Put] returns is on the disk, with its name: an entry that names a part is
// written after that. Whatever happens to the process in between, a part without an entry is
// removed by a later [Store.Sweep], and only after a grace time.
//
// The parts of a task are kept for a time after it has ended, which is said in the
// reference. Then Sweep removes them; a content goes with the last reference to it.
//
// # What it does not promise
//
// The files are as the system keeps them: they are not encrypted, and their bytes are not
// compared with their names when they are read. One that somebody else removes is
// [ErrLost]. What is known of each part is held in memory, about 300 bytes, and read from
// the folder when it is opened.
//
// # Concurrency
//
// All methods are safe for concurrent use. Whoever opens a folder sees to it that nobody else
// does. Files are written side by side; their names are changed one after the other.
//
// # Testing
//
// The tests use real folders. Those of internal/engine kill a process between the file and
// its entry, and after the entry; those of internal/cli the whole program.
package blobstore
