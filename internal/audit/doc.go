// Package audit keeps a tamper-evident log of the actions on a hub and their actors.
//
// # Overview
//
// A [Log] is a folder of segments, files to which lines are appended. Each line is an entry: a
// JSON object with a number, a time, an actor, an action, a subject and an outcome. The last
// member of a line is the SHA-256 of the line up to there, and the member before it is the hash
// of the previous entry, so that all entries form a chain across the segments. Periodically, an
// entry holds a signature over the chain so far. The file head.json holds a signature too, and
// records the end of the log. [Verify] checks all of that and names each faulty entry. [Read]
// reads the entries of a log; docs/audit.md is its manual.
//
// # Guarantees
//
// An entry is on disk when [Log.Append] or [Pending.Wait] returns without an error. Concurrent
// entries are written with one sync of the disk. If they cannot be written, none of them is in
// the log, and waiting callers get an error. The number of lost entries is logged as soon as
// the disk is writable again.
//
// An unfinished line that a crash has left at the end of the log is completed or removed by the
// next Open, which logs that. Nothing else is repaired: where a log was changed, Open begins a
// new segment behind the change, and Verify still finds it.
//
// Segments that are removed by age or size leave an entry with the new beginning of the log. So
// Verify can distinguish them from segments that were deleted by others.
//
// Texts of an entry are cut at 512 bytes and are always valid UTF-8. Repeated refusals are
// counted, see [Log.Refused].
//
// # Non-guarantees
//
// An owner of the private key can write another log. Others can remove the entries after the
// last signature without detection, unless a head was noted elsewhere; see [Check]. Actions
// that were never passed to the log are not in it.
//
// # Concurrency
//
// A Log is safe for concurrent use by one process, which the hub's lock on its data folder
// ensures. Reading and verifying need no lock, even while the log is written.
//
// # Testing
//
// The tests flip each byte of a log, and delete, repeat, swap and forge its lines.
package audit
