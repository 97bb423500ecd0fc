//go:build !linux || !amd64

package crash

import (
	"errors"
	"time"
)

// moveClock is not possible on this system.
func moveClock(int, time.Duration) error { return errors.ErrUnsupported }
