// Package cli is the parley command as a library: one struct a command, and [Main],
// which chooses among them.
//
// The commands send, chat, card and tasks speak A2A and work against any server by
// its card. The command keys speaks to a hub's own interface, below /api/v1, or works
// on the data folder of a hub that does not run. The command serve runs
// a hub of package server.
//
// # Guarantees
//
// Exit codes are part of the contract with scripts: 0 completed, 1 the task failed,
// was rejected or canceled, or the command could not do its work, 2 wrong usage,
// 3 the task waits for input or authorization, 4 the server cannot be reached.
// Standard output carries the reply and nothing else; what is said to a person goes
// to standard error. Text of agents never reaches a terminal with control
// characters in it.
//
// # What it does not promise
//
// The words of human output may change. Scripts read --json or plain text.
//
// # Concurrency
//
// Main may be called from several goroutines with different values of [OS].
//
// # Testing
//
// Every command has a script under testdata/script that runs the real command,
// against the SDK's own server where no hub is needed.
package cli
