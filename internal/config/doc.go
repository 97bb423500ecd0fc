// Package config reads parley.yaml, the configuration file of a hub.
//
// # The file
//
// A file is one YAML mapping; [Config] is its shape, and the JSON Schema that [Schema] returns
// describes it to editors. Unknown keys are errors. Durations are written like 30s, 1h30m or
// 30d, sizes like 10MiB. Relative paths are relative to the folder of the file.
//
// In every value, and in the API keys below auth, ${NAME} is replaced by an environment
// variable. An unset variable is an error, unless ${NAME:-text} gives a default; $$ is a dollar
// sign. ${file:PATH} is replaced by the content of a file, such as a secret. Variables are
// expanded after the YAML has been parsed, so they cannot change the structure of the file.
//
// # Guarantees
//
// An error names the file, the line and the key of each problem, and all problems of a file are
// reported together. A file that loads without an error can be served: names are unique,
// addresses are valid, and the default agent exists.
//
// # Non-guarantees
//
// Loading does not look for programs, create folders or listen on addresses. YAML tags are
// refused, and a file holds one document.
//
// # Testing
//
// [Parse] takes a text and a function that replaces the environment. The schema is compared
// with the structs in both directions.
package config
