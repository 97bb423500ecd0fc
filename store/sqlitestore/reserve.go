package sqlitestore

import (
	"errors"
	"os"
	"syscall"

	"zombiezen.com/go/sqlite"
)

const (
	// reserveSuffix ends the name of the reserve: space for the index of the write-ahead log,
	// without which SQLite reads nothing. A store on a full disk opens with it.
	reserveSuffix = "-reserve"
	// reserveSize is the size of a new index.
	reserveSize = 32 << 10
)

// keepReserve creates the reserve of the file at path, if there is room.
func keepReserve(path string) {
	if info, err := os.Stat(path + reserveSuffix); err == nil && info.Size() == reserveSize {
		return
	}
	if os.WriteFile(path+reserveSuffix, make([]byte, reserveSize), 0o600) != nil {
		_ = os.Remove(path + reserveSuffix) // a part of it is of no use
	}
}

// useReserve removes the reserve, and reports whether the file at path can be opened with the
// space, after err.
func useReserve(path string, err error) bool {
	switch sqlite.ErrCode(err).ToPrimary() {
	case sqlite.ResultIOErr, sqlite.ResultFull, sqlite.ResultCantOpen:
	default:
		if !errors.Is(err, syscall.ENOSPC) {
			return false
		}
	}
	return os.Remove(path+reserveSuffix) == nil
}
