//go:build !linux && !darwin

package cli

// room returns zeros: the free and total bytes of a disk are unknown on this system.
func room(string) (free, total uint64) { return 0, 0 }
