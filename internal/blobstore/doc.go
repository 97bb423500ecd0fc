// Package blobstore stores the large parts of tasks, and replaces them by references.
//
// # Overview
//
// A [Store] keeps contents by the SHA-256 of their bytes: a [Folder], or the database of package
// pgstore. A [Externalizer] processes the v1.0 JSON of messages and artifacts: [Externalizer.Externalize] stores the
// bytes of large parts and replaces them by a url; [Externalizer.Fill] restores the bytes for
// executors.
//
// # Guarantees
//
// A content is accessible only through a task that has a reference to it. Equal bytes in
// several tasks of one owner share one file. Equal bytes of another owner are a separate file,
// so that the duration of storing reveals nothing about the contents of other owners.
//
// A part returned by Put is durable, including its name, before an entry that names it
// is written. If the process ends in between, a later Sweep removes the part without an
// entry, after a grace time.
//
// The parts of a task are kept for a time after its end, which is stored in the reference. Then
// Sweep removes them; a content is removed together with its last reference.
//
// # Non-guarantees
//
// The following is true of a Folder. Files are not encrypted, and their bytes are not verified against their names when they are
// read. A file that was deleted from outside is reported as [ErrLost]. The description of each
// part is held in memory, about 300 bytes, and read from the folder at Open.
//
// # Concurrency
//
// All methods are safe for concurrent use. The caller of Open must ensure that no other process
// uses the folder. Files are written concurrently; their names are changed one after the other.
package blobstore
