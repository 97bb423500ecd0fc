// Package treetest tests the tree itself: its documentation, the directions of its imports, the
// size of its functions and files, its records and its licence.
//
// The package has no code beside its tests. Each rule is a function from sources to problems.
// It is run on the whole tree, and on a few lines that break it, so that a rule that no longer
// finds anything fails its own test. A failure states the remedy.
//
// # Non-guarantees
//
// The rules read files and the output of go list; they do not judge whether a comment is true
// or a test is good.
package treetest
