//go:build !unix

package cli

import "io/fs"

// renamesHeld says that a folder can be renamed in which a file is open.
const renamesHeld = false

// isOurs reports true: the folder for temporary files is the user's own.
func isOurs(fs.FileInfo) bool { return true }
