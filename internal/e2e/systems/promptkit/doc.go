// Package promptkit holds the parley binary against PromptKit: against its own client, tool
// bridge, executor and mock, and against a server that keeps the rules of its own.
//
// The page beside it, README.md, says what is the real program and what the strict server
// holds. The package has tests alone. It is a module of its own, so that PromptKit's
// dependencies stay out of Parley's.
package promptkit
