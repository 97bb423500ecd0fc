// Package task is the core of Parley: what a task is, which changes are legal,
// and what a store of tasks must promise.
//
// A task is an append-only log of [Entry] values plus one small mutable row, its
// [Head]. [Apply] is the only place where the rules of a task's life stand; it is
// a pure function of the head and never sees the whole task. [Fold] rebuilds the
// whole task from entries when somebody asks for it.
//
// Entries hold v1.0 JSON as bytes. [AppendFrame], [AppendHead] and the methods of
// Fold write the objects of the protocol around them; nothing is decoded on the
// way. [AppendEntries] and [Fold.AppendBinary] are the forms that stores keep.
// A [Hook] is a webhook: a reader of the log whose position is kept beside the task.
// A [Request] is what a caller may repeat and the hub must not: its key is stored with
// what it has changed. A run keeps a checkpoint beside its task ([Checkpoints]) and
// a journal ([Journals]), and a task that was made for another one its [Lineage].
// Package memstore keeps tasks in memory, package sqlitestore in a file.
//
// # Guarantees
//
// Versions of entries are gapless: 1, 2, 3 … They count protocol mutations only
// (the task and its first message, a further message, a status, an artifact).
// Everything else that changes (the run, leases, a cancel request) lives in the
// head and is counted by [Head.Rev] alone. A store accepts a [Change] only if the
// head it was made from is still the stored one; a loser gets [ErrConflict] and
// nothing of its change is stored. Once Append returns nil, the change survives
// the death of the process, if the store is durable at all.
//
// A terminal state is final: Apply refuses whatever comes later.
//
// Nothing of a message or an artifact is lost: unknown fields and the digits of
// numbers come out as they went in. Adding an entry to a task costs what the entry
// is long, not what the task is.
//
// # What it does not promise
//
// Callers are not authenticated here: an [Owner] is an opaque scope that somebody
// else made. The scoped methods ([Log.Head], [Index]) never answer for another
// owner's task; the methods of [Work] and [Sweeper] are explicitly unscoped and
// belong to the hub itself.
//
// # Concurrency
//
// Apply and the encoders are pure. Stores are safe for concurrent use. A [Fold]
// belongs to one goroutine while entries are added; after that it may be shared.
//
// # Testing
//
// Package tasktest is the suite that every store passes. The decoders of stored
// bytes are fuzz targets.
package task
