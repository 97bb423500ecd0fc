// Package rows contains the measurements of the bench: one function for each row of its table.
//
// A row starts the servers that it compares one after the other, each in a process of its own,
// puts the same load on each of them from this process, and returns its measurements.
//
// # Guarantees
//
// Every answer is checked: its status, the state of the task, its required text, the number of
// chunks and of tasks. A wrong answer ends the row with an error; it never counts as a fast
// one. A missing measurement is a [Result] with the reason in Left, never a number.
//
// # Non-guarantees
//
// The load shares the processors with the server. Rates therefore depend on the cost of the
// load, which is the same for all servers. The processor time of the server does not depend on
// it.
//
// # Concurrency
//
// Rows run one after the other.
//
// # Testing
//
// The tests of the bench's main package run every row briefly against real servers. The tests
// here falsify the answers.
package rows
