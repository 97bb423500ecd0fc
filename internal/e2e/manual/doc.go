// Package manual tests the pages below docs. It has no code of its own.
//
// The pages of the tutorial and the instructions are typed by a program, command by command, on a
// machine of their own: a network and a process namespace with a fresh home folder. The output
// must be the one that the page shows. The pages of the reference are generated:
//
//	go test ./internal/e2e/manual -run TestReference -update
//
// writes them, and the test fails if they differ. Further tests compare the commands and flags of
// all pages with those of the program, and the index with the files.
//
// # Blocks of a page
//
// A block of code has one of these kinds, in the order of the page:
//
//   - sh: commands, which must succeed. A following text block is their output, in which "…" stands
//     for any text, and a line "…" for any lines.
//   - sh background: commands that run until the end of the page. The text block that must follow
//     has the output up to the line at which the page continues.
//   - sh elsewhere: commands for programs that a test cannot have, such as docker.
//   - LANGUAGE NAME, such as "yaml parley.yaml": a file of the current folder.
//   - text, and languages without a name: shown, and not run.
package manual
