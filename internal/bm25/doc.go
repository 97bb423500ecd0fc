// Package bm25 is a search index for items with a name and skills, queried in free words.
//
// # Overview
//
// An [Index] ranks by BM25 (Okapi; k1 1.5, b 0.75). Words weigh more in a name, in the name of
// a skill or in a tag than in a description. Two words that are adjacent in the query and in
// the document add twice their weight. Words are reduced to stems; a stem also matches longer
// words that begin with it, and words with a similar meaning, with a lower weight.
//
// # Guarantees
//
// The same documents and the same query give the same result, regardless of earlier documents
// and of the order of changes. The cost of a change depends on the document, not on the size of
// the index. Scores range from 0 to 1, and the best hit has 1.
//
// # Non-guarantees
//
// Scores of different queries cannot be compared, and the best hit may be a poor one. Stems are
// those of English; other languages are matched by whole words.
//
// # Testing
//
// The quality is measured with labelled queries in testdata; those in heldout.txt were written
// after all parameters were chosen, and none was tuned with them.
package bm25
