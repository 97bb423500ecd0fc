// Package memory is what a hub remembers beside its tasks: notes that somebody finds
// again for a while, and the turns of conversations.
//
// # What it is
//
// [Notes] are the working memory: short texts by keys such as "session/main/plan", with
// a category, tags and an end. A key consists of segments; the first two of them are its
// namespace, which has room for a few notes only. Notes are listed by the beginnings of
// their keys and searched by words, category, tags and namespace.
//
// [Turns] are the conversation memory: who said what, in order, in a session such as
// "a2a-inbound/{contextId}". What is not remembered, or not yet, is made from the log of
// tasks.
//
// A [View] is the working memory as somebody sees it who has a place of his own in it:
// short keys are below his place, and only what he was given beside it is in reach.
//
// # Guarantees
//
// An owner sees his own notes and turns; those of others take the same queries and are as
// good as missing. A note is durable when Set returns. A note whose time has passed is
// never shown, whether it was swept or not. A key has no empty segment, no "." and no
// "..", and at most [MaxKey] bytes. Each note that is set finds room: in a namespace that
// is full, the note that ends first makes way, and so it is when an owner has too many.
//
// # What it does not promise
//
// It is working memory: what is to last belongs elsewhere. Words are found in the first
// [Indexed] characters of a note. A note that stands for a text in the log of tasks is
// gone when its task is.
//
// # Concurrency
//
// Notes, Turns and Views are safe for concurrent use. Run sweeps what has ended, in small
// slices.
//
// # Testing
//
// [MemNotes] and [MemTurns] are stores that end with the process. Suite memorytest says
// what every store has to do. Moments in records come from the caller of a store; those of
// Notes come from the clock, so that a synctest bubble rules them.
package memory
