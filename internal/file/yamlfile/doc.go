// Package yamlfile reads YAML files, and JSON, which is a kind of it, strictly: into
// structs whose fields have yaml tags, with the line and the key of everything that is
// wrong.
//
// In every value ${NAME} stands for an environment variable. One that is not set is an
// error, unless ${NAME:-text} says what to take instead; $$ stands for a dollar sign.
// ${file:PATH} stands for the text of a file, where [Decoder.ReadFiles] lets it. The
// variables are put in after the YAML has been read, so that they cannot change the
// structure of the file. Unknown keys are problems, with the key that may have been
// meant, and so are keys that are given twice.
//
// All problems of a file are collected, and what is right is decoded all the same: whose
// file is a list of independent things may go on with those that have no problem.
//
// [NewScript] reads the scripts of test programs, which have no variables.
//
// # Testing
//
// A [Decoder] takes a text and a function that stands for the environment.
package yamlfile
