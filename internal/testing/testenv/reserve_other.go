//go:build !linux

package testenv

import "io"

// reserve does nothing on these systems.
func reserve(string) (io.Closer, error) { return io.NopCloser(nil), nil }
