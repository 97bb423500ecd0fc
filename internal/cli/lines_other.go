//go:build !unix

package cli

import "os"

// linesOf returns the number of lines of a terminal; 0 if it is not known.
func linesOf(*os.File) int { return 0 }
