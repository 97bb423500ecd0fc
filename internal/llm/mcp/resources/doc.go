// Package resources lets MCP hosts read data of a running hub: the tasks of their caller, the
// artifacts of these, and the notes of the working memory. A [Library] is a mcpserver.Library
// that uses the hub's HTTP. Its addresses are
//
//	parley://tasks/{id}                           a task as JSON of A2A v1.0
//	parley://tasks/{id}/artifacts/{artifactId}    the parts of an artifact
//	parley://memory/{+key}                        a note
//
// Ids and keys are escaped as in the path of a URL, except slashes of keys.
//
// # Guarantees
//
// The hub decides which resources the caller may see: those of others do not exist for it. The
// list has the hundred most recently changed tasks and then the notes. A watch continues after
// a restart of the hub.
//
// # Non-guarantees
//
// A watch may report a change that did not happen, especially at its beginning. It does not
// report that a note was deleted or has expired.
//
// # Concurrency
//
// A Library is safe for concurrent use once its fields are set. It starts no goroutine.
package resources
