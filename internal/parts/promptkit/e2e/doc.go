// Package promptkit tests the parley binary with PromptKit: with its own client, tool bridge,
// executor and mock, and with a server that enforces the rules of PromptKit's.
//
// README.md in this folder states which parts are the real program, and which rules the strict
// server enforces. The package has tests alone. It is a module of its own, so that PromptKit's
// dependencies stay out of Parley's.
package promptkit
