// Package cli is the parley command as a library: one struct for each command, and [Main],
// which runs the chosen one.
//
// The commands send, chat, card and tasks speak A2A and work with any server that has a card.
// The command keys uses a hub's own interface, below /api/v1, or the data folder of a hub that
// does not run. The command serve runs a hub of package server.
//
// # Guarantees
//
// Exit codes are part of the contract with scripts: 0 completed; 1 the task failed, was
// rejected or canceled, or the command failed; 2 wrong usage; 3 the task waits for input or
// authorization; 4 the server cannot be reached. Standard output carries only the reply.
// Messages for a person are written to standard error. Control characters in texts of agents
// never reach a terminal.
//
// # Non-guarantees
//
// The words of human output may change. Scripts should read -o json or plain text.
//
// # Concurrency
//
// Main may be called from several goroutines with different values of [OS].
//
// # Testing
//
// Every command has a script under testdata/script that runs the real command, against the
// SDK's own server if no hub is needed.
package cli
