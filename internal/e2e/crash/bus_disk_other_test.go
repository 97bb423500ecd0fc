//go:build !linux

package crash

import "testing"

// smallDisk returns "": only Linux has small disks.
func smallDisk(*testing.T) string { return "" }
