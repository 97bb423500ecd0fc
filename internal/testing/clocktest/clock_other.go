//go:build !linux || !amd64

package clocktest

import (
	"errors"
	"time"
)

// Move is not possible on this system.
func Move(int, time.Duration) error { return errors.ErrUnsupported }
