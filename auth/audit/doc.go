// Package audit keeps a log of who did what to a hub, which shows where it was changed.
//
// # What it is
//
// A [Log] is a folder of segments, files to which lines are appended. Each line is an entry:
// one JSON object with a number, a time, who did it, what, to what, and what came of it. Its
// last member is the SHA-256 of the line before it, and the member before that is the hash of
// the entry before, so that all entries are a chain, through all segments. From time to time an entry
// holds a signature over the chain so far, and so does the file head.json, which says
// where the log ends. [Verify] checks all of that and names each entry that is wrong.
// [Read] goes through a log; docs/audit.md is its manual.
//
// # Guarantees
//
// An entry is on the disk when [Log.Append] or [Pending.Wait] returns without an error.
// Entries that wait at one time are written with one sync of the disk. If they cannot be
// written, none of them is in the log, those who wait are told, and how many were lost is an
// entry as soon as the disk takes some again.
//
// What a crash leaves of a line at the end of the log is completed or cut off by the next
// Open, which is an entry itself. Nothing else is ever mended: where a log was changed,
// Open begins a new segment behind it, and Verify finds the place as before.
//
// Segments that are removed by age or size leave an entry that says where the log begins
// from then on. So Verify tells this from segments that somebody else has removed.
//
// Texts of an entry are clipped at 512 bytes and are valid UTF-8, whatever they came as.
// Callers who are refused again and again are counted, see [Log.Refused].
//
// # What it does not promise
//
// Who has the private key can write another log. Who has it not can take away the entries
// after the last signature, if nobody has noted the head elsewhere; see [Check]. What
// was never told to the log is not in it.
//
// # Concurrency
//
// A Log is safe for concurrent use, by one process: the hub's lock on its data folder sees to
// that. Reading and verifying need no lock, also while the log is written.
//
// # Testing
//
// The tests flip each byte of a log, and delete, repeat, swap and forge its lines.
package audit
