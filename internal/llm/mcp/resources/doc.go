// Package resources lets hosts of MCP read what a running hub has of their caller: tasks,
// their artifacts, and the notes of the working memory.
//
// # What it is
//
// A [Library] is a mcpserver.Library in front of the hub's HTTP. The addresses are
//
//	parley://tasks/{id}                           a task as JSON of A2A v1.0
//	parley://tasks/{id}/artifacts/{artifactId}    the parts of an artifact
//	parley://memory/{+key}                        a note
//
// in which ids and keys are escaped as in the path of a URL; slashes of keys stay.
//
// # Guarantees
//
// The hub decides what the caller may see: what belongs to others is not there. The list
// has the hundred tasks that were changed last and then the notes. A watch goes on when
// the hub was started anew.
//
// # What it does not promise
//
// A watch may tell of a change that is none, above all at its beginning. That a note was
// deleted or has expired is not told.
//
// # Concurrency
//
// A Library is safe for concurrent use once its fields are set. It starts no goroutine.
//
// # Testing
//
// The tests read from a hub in the same process.
package resources
