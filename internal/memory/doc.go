// Package memory stores the data that a hub remembers beside its tasks: short-lived notes and
// the turns of conversations.
//
// # Overview
//
// [Notes] is the working memory: short texts under keys such as "session/main/plan", with a
// category, tags and an expiry. A key consists of segments; the first two of them are its
// namespace, which holds a limited number of notes. Notes can be listed by prefix and searched
// by words, category, tags and namespace.
//
// [Turns] is the conversation memory: the utterances of a session such as
// "a2a-inbound/{contextId}", with their speakers, in order. Missing turns are rebuilt from the
// task log.
//
// # Guarantees
//
// An owner sees only its own notes and turns; those of other owners appear as missing. A note
// is durable when Set returns. An expired note is never returned, whether it was swept or not.
// A key has no empty segment, no "." and no "..", and at most [MaxKey] bytes. Each new note
// finds room: in a full namespace the note that expires first is dropped, and the same applies
// to the limit of an owner.
//
// # Non-guarantees
//
// It is working memory: permanent data belongs elsewhere. Searches cover the first [Indexed]
// characters of a note. A note that refers to a text in the task log is lost together with its
// task.
//
// # Concurrency
//
// Notes, Turns and Views are safe for concurrent use. Run deletes expired data, in small
// slices.
//
// # Testing
//
// [MemNotes] and [MemTurns] are in-memory stores. Suite memorytest defines the behaviour
// required of every store. Stores get all times from their caller; Notes reads the clock, so
// that a bubble of testing/synctest controls it.
package memory
