// Package bridges tests the use of tasks across dialects: a task that was created in one of
// them is used in every other.
//
// There is a row for each pair of dialects and a column for each operation. A cell is "works",
// or "none" if the dialect lacks the operation. In that case the test makes the call that a
// client might try, which must be refused. A second table has the cards. CI prints both.
//
// # Guarantees
//
// The test fails if an operation does not work across two dialects; if an answer is not in the
// dialect of its request; if an operation that a dialect lacks is carried out, or is refused in
// another way than declared; and if a dialect does not declare an operation as present or
// lacking.
//
// # Non-guarantees
//
// Answers are searched only for the marks of the dialect and the state. The transcripts of
// internal/front/httpfront and grpcbind have them byte for byte.
//
// # Concurrency
//
// One hub serves all cells, which are filled in one after the other.
package bridges
