//go:build !linux && !darwin

package cli

// diskSpace returns zeros: the free and total bytes of a disk are unknown on this system.
func diskSpace(string) (free, total uint64) { return 0, 0 }
