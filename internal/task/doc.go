// Package task is the core of Parley: it defines a task, its legal changes, and the contract of
// a store of tasks.
//
// A task is an append-only log of [Entry] values plus one small mutable row, its [Head].
// [Apply] alone implements the rules of a task's life cycle. It is a pure function of the head
// and never sees the whole task. [Fold] rebuilds the whole task from entries when a reader
// needs it.
//
// Entries hold v1.0 JSON as bytes. [AppendFrame], [AppendHead] and the methods of Fold write
// the objects of the protocol around them without decoding. [AppendEntries] and
// [Fold.AppendBinary] write the stored forms. A [Hook] is a webhook: a reader of the log whose
// position is stored beside the task. A [Request] makes a caller's request idempotent: its key
// is stored with the change that the request made. Beside a task, the store keeps a journal
// ([Journals]) of its run, and [Sidecars]: a checkpoint of its run, a request to record its
// outcome and, for a task that was created on behalf of another one, its [Lineage]. Package
// memstore keeps tasks in memory, package sqlitestore in a file.
//
// # Guarantees
//
// Versions of entries are gapless: 1, 2, 3 … They count protocol mutations only (the task and
// its first message, a further message, a status, an artifact). All other mutable data (the
// run, leases, a cancel request) is in the head and counted by [Head.Rev] alone. A store
// accepts a [Change] only if the head it was made from is still the stored one. Otherwise it
// returns [ErrConflict] and stores no part of the change. Once Append returns nil, the change
// survives the death of the process, if the store is durable.
//
// A terminal state is final: Apply refuses all later entries.
//
// Messages and artifacts are kept completely: unknown fields and the digits of numbers are
// returned unchanged. The cost of adding an entry to a task is proportional to the length of
// the entry, not to that of the task.
//
// # Non-guarantees
//
// This package does not authenticate callers: an [Owner] is an opaque scope that its caller
// provides. The scoped methods ([Log.Head], [Index]) never return another owner's task; the
// methods of [Work] and [Sweeper] are explicitly unscoped and for the hub itself.
//
// # Concurrency
//
// Apply and the encoders are pure. Stores are safe for concurrent use. A [Fold] belongs to one
// goroutine while entries are added; after that it may be shared.
//
// # Testing
//
// Package tasktest is the suite that every store passes. The decoders of stored bytes are fuzz
// targets.
package task
