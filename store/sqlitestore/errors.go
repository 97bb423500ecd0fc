package sqlitestore

import (
	"errors"
	"fmt"

	"zombiezen.com/go/sqlite"

	"github.com/parley-a2a/parley/task"
)

// Why a file is refused or given up. The error around it names the file and says
// what to do. Callers test with errors.Is.
var (
	// ErrNewer: the file was written by a newer version of Parley.
	ErrNewer = errors.New("written by a newer version")
	// ErrForeign: the file is not one of Parley's.
	ErrForeign = errors.New("not a file of parley")
	// ErrDamaged: the file does not hold together. It comes from Open and Check,
	// and together with task.ErrUnavailable from everything else.
	ErrDamaged = errors.New("file is damaged")
)

var errClosed = fmt.Errorf("%w: closed", task.ErrUnavailable)

// unavailable says that the store could not do its work because of err.
func unavailable(err error) error {
	if damaged(err) {
		return fmt.Errorf("%w: %w: %w", task.ErrUnavailable, ErrDamaged, err)
	}
	switch sqlite.ErrCode(err).ToPrimary() {
	case sqlite.ResultFull:
		return fmt.Errorf("%w: %w", task.ErrFull, err)
	case sqlite.ResultReadOnly:
		return fmt.Errorf("%w: %w", task.ErrReadOnly, err)
	}
	return fmt.Errorf("%w: %w", task.ErrUnavailable, err)
}

// damaged reports whether err comes from what was found in the file.
func damaged(err error) bool {
	if errors.Is(err, task.ErrCorrupt) {
		return true
	}
	switch sqlite.ErrCode(err).ToPrimary() {
	case sqlite.ResultCorrupt, sqlite.ResultNotADB:
		return true
	}
	return false
}
