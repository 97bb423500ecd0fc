// Package config reads parley.yaml, the configuration file of a hub.
//
// # The file
//
// A file is one YAML mapping; [Config] is its shape, and the JSON Schema that
// [Schema] returns describes it to editors. Unknown keys are errors. Durations are
// written like 30s, 1h30m or 30d, sizes like 10MiB. Relative paths count from the
// folder of the file.
//
// In every value, and in the API keys below auth, ${NAME} stands for an environment variable. One that
// is not set is an error, unless ${NAME:-text} says what to take instead; $$ stands
// for a dollar sign. ${file:PATH} stands for the text of a file, such as a secret. The variables are put in after the YAML has been read, so that
// they cannot change the structure of the file.
//
// # Guarantees
//
// An error names the file, the line and the key of each problem, and all problems
// of a file are told at once. A file that loads without error can be served: names
// are unique, addresses are addresses, the default agent exists.
//
// # What it does not promise
//
// Programs are not looked for, folders are not made and addresses are not listened
// at. YAML tags are refused, and a file holds one document.
//
// # Concurrency
//
// A Config is not changed after it was loaded.
//
// # Testing
//
// [Parse] takes a text and a function that stands for the environment. The schema is
// compared with the structs in both directions.
package config
