//go:build !linux

package crash

import "testing"

// smallDisk is empty: only Linux has small disks.
func smallDisk(*testing.T) string { return "" }
