// Package rows is the measurements of the bench: one function for each row of its
// table.
//
// A row starts the servers that it compares one after the other, each in a process of
// its own, puts the same load on each of them from this process, and returns what it
// has measured.
//
// # Guarantees
//
// Every answer is looked at: its status, the state of the task, the text that must be
// in it, the number of chunks and of tasks. A wrong one ends the row with an error; it
// never counts as a fast one. What was not measured is a [Result] that says why in
// Left, never a number.
//
// # What it does not promise
//
// The load shares the processors with the server. Rates therefore depend on what the
// load costs, which is the same for all servers; the processor time of the server does
// not.
//
// # Concurrency
//
// Rows run one after the other.
//
// # Testing
//
// The tests of the bench's main package run every row for a moment against real
// servers. The tests here break the answers.
package rows
