// Package endpoint serves the tools and the resources of a hub to MCP hosts: at the address /mcp
// of the hub, and for a program beside the host ("parley mcp"). The resources are those of a
// [Library]: the tasks of the caller, the artifacts of these, and the notes of the working memory.
// Their addresses are
//
//	parley://tasks/{id}                           a task as JSON of A2A v1.0
//	parley://tasks/{id}/artifacts/{artifactId}    the parts of an artifact
//	parley://memory/{+key}                        a note
//
// Ids and keys are escaped as in the path of a URL, except slashes of keys.
//
// # Guarantees
//
// Each caller of an [Endpoint] has its own server, whose requests to the hub carry the principal
// of the caller. A session ends when the permissions of its caller change. Close ends all calls;
// their tasks are not canceled.
//
// The hub decides which resources the caller may see: those of others do not exist for it. The
// list has the hundred most recently changed tasks and then the notes. A watch continues after
// a restart of the hub.
//
// # Non-guarantees
//
// An Endpoint does not authenticate callers: the front of the hub does. A watch may report a
// change that did not happen, especially at its beginning. It does not report that a note was
// deleted or has expired.
//
// # Concurrency
//
// An Endpoint is safe for concurrent use. Call Handler once, and before Close. A Library is safe
// for concurrent use once its fields are set.
package endpoint
