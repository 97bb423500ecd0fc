// Package bridges holds the test of what passes between dialects: a task that was made
// in one of them is used in every other.
//
// There is a row for each pair of dialects and a column for each operation. A cell says
// "works", or "none" where the dialect does not have the operation; the call that a client
// might try there is made too, and must be refused. A second table has the cards. CI
// prints both.
//
// # Guarantees
//
// The test fails if an operation does not work across two dialects, if an answer is not
// in the dialect of its request, if an operation that a dialect does not have is carried
// out or refused in another way than declared, and if a dialect neither has an operation
// nor lacks it.
//
// # What it does not promise
//
// Answers are searched for what tells the dialect and the state; the transcripts of
// internal/front/httpfront and grpcbind have them byte for byte.
//
// # Concurrency
//
// One hub serves all; the cells are filled in one after the other.
//
// # Testing
//
// The package is tests only. A new dialect is one more tongue.
package bridges
