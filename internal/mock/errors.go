package mock

import "github.com/parley-a2a/parley/internal/file/yamlfile"

// Error is one problem of a file. File is the path; Line is the line number from 1, or 0 if the
// problem has none; Key is the key, such as "a2a_agents[0].name", or empty at the top; Problem
// describes the problem. Its text is like "mock.yaml:3: a2a_agents[0].name: is missing".
type Error = yamlfile.Error

// Errors are all problems of a file, at least one; its text has one line for each.
type Errors = yamlfile.Errors
