//go:build !linux

package busfaults

import "testing"

// smallDisk is empty: only Linux has small disks.
func smallDisk(*testing.T) string { return "" }
