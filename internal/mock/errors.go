package mock

import "github.com/parley-a2a/parley/internal/file/yamlfile"

// Error is one problem of a file: the path of the File, the number of the Line from 1,
// or 0 if the problem has none, the Key where it is, such as "a2a_agents[0].name", or
// empty at the top, and the Problem in words. Its text is like "mock.yaml:3:
// a2a_agents[0].name: is missing".
type Error = yamlfile.Error

// Errors are all problems of a file, at least one, each on a line of its text.
type Errors = yamlfile.Errors
