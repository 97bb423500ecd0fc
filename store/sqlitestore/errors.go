package sqlitestore

import (
	"errors"
	"fmt"
	"io/fs"

	"zombiezen.com/go/sqlite"

	"github.com/parley-a2a/parley/internal/task"
)

// Reasons for which a file is refused. The error around them names the file and the remedy.
// Callers test with errors.Is.
var (
	// ErrNewer is returned for a file that a newer version of Parley has written.
	ErrNewer = errors.New("written by a newer version")
	// ErrOlder is returned by Examine, Copy and Dump for a file of an earlier version. Open changes
	// such a file to the layout of this version.
	ErrOlder = errors.New("it has the layout of an earlier version")
	// ErrForeign is returned for a file that is not one of Parley's.
	ErrForeign = errors.New("not a file of parley")
	// ErrDamaged is returned for a damaged file: by Open and Check, and together with
	// task.ErrUnavailable and task.ErrCorrupt by all other methods.
	ErrDamaged = errors.New("file is damaged")
	// ErrUnread is returned by Examine for a file that this process cannot read at present, because
	// of permissions or locks. The error is no evidence of damage.
	ErrUnread = errors.New("it cannot be read")
)

var errClosed = fmt.Errorf("%w: closed", task.ErrUnavailable)

// unavailable wraps err as an error of an unavailable store.
func unavailable(err error) error {
	if damaged(err) {
		if !errors.Is(err, task.ErrCorrupt) {
			err = fmt.Errorf("%w: %w", task.ErrCorrupt, err)
		}
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

// unread wraps err in ErrUnread if it is caused by permissions or locks and not by the contents
// of the file.
func unread(err error) error {
	switch sqlite.ErrCode(err).ToPrimary() {
	case sqlite.ResultCantOpen, sqlite.ResultReadOnly, sqlite.ResultPerm, sqlite.ResultBusy:
	default:
		if !errors.Is(err, fs.ErrPermission) {
			return err
		}
	}
	return fmt.Errorf("%w: %w", ErrUnread, err)
}

// damaged reports whether err is caused by the contents of the file.
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
