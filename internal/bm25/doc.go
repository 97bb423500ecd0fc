// Package bm25 finds, among things that have a name and skills, those that have to do
// with what somebody wants, in the words that he happens to use.
//
// # What it is
//
// An [Index] ranks by BM25 (Okapi; k1 1.5, b 0.75). Words count more in a name, in the
// name of a skill or in a tag than in a description. Two words that stand side by side in
// the query and in the document count twice in addition. Words are cut to stems; a stem
// also finds words that it is the beginning of, and words that people say for the same
// thing, for less.
//
// # Guarantees
//
// The same documents and the same query give the same answer, whatever was there before
// and in whatever order it came. A change costs what the document costs, not what the
// index does. Scores go from 0 to 1, and the best hit has 1.
//
// # What it does not promise
//
// Scores of different queries cannot be compared, and a best hit may be a bad one. Words
// and stems are those of English; other languages are found by whole words.
//
// # Concurrency
//
// An Index is safe for concurrent use.
//
// # Testing
//
// The quality is measured with labelled queries in testdata; those in heldout.txt were
// written when everything was chosen, and nothing was chosen with them.
package bm25
