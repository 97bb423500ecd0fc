// Package yamlfile reads YAML files, including JSON, strictly into structs whose fields have
// yaml tags. Each problem has its line and its key.
//
// In every value ${NAME} is replaced by an environment variable. An unset variable is an error,
// unless ${NAME:-text} gives a default; $$ is a dollar sign. ${file:PATH} is replaced by the
// content of a file, if [Decoder.ReadFiles] allows it. Variables are expanded after the YAML
// has been parsed, so they cannot change the structure of the file. Unknown keys are problems,
// with a suggestion, and so are repeated keys.
//
// All problems of a file are collected, and valid parts are decoded nevertheless: the caller
// can use the valid items of a list of independent things.
//
// [NewScript] reads the scripts of test programs, which have no variables.
package yamlfile
