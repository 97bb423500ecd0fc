//go:build !unix

package cli

import "io/fs"

// renamesHeld reports whether a folder can be renamed while a file in it is open.
const renamesHeld = false

// ownedByUser reports true: the folder for temporary files belongs to the user.
func ownedByUser(fs.FileInfo) bool { return true }
