package sqlstore

import (
	"fmt"

	"github.com/parley-a2a/parley/internal/task"
)

// Limits of one row of entries. Entries appended together form one row unless it is larger than
// a page of a read.
const (
	maxRowEntries = 256
	// MaxRowBytes is the size of a row with more than one entry.
	MaxRowBytes = 1 << 20
)

// MaxAppend is the largest size of one append in bytes: SQLite and PostgreSQL accept rows of up to
// 1 GB, and an error would fail all appends in the same commit.
const MaxAppend = 256 << 20

// A row of entries has a place: the key of the task, and in the lowest bits the first version.
// It leaves room for 5 · 10¹¹ tasks.
const (
	versionBits = 24
	MaxVersion  = 1<<versionBits - 1
	MaxKey      = 1<<(63-versionBits) - 1
)

// Place returns the place of the row of entries of a task that begins with version.
func Place(key task.Key, version int64) int64 { return int64(key)<<versionBits | version }

// KeyAt returns the key of the task of a place.
func KeyAt(place int64) task.Key { return task.Key(place >> versionBits) }

// SidecarPlace returns the place of a sidecar: the kind, and in the lowest bits the key. Statements
// of the stores contain MaxKey.
func SidecarPlace(kind task.SidecarKind, key task.Key) int64 {
	return int64(kind)*(MaxKey+1) + int64(key)
}

// Fit returns the number of entries at the start of es that fit into one row.
func Fit(es []task.Entry) int {
	size := 0
	for i := range es[:min(len(es), maxRowEntries)] {
		size += es[i].Size()
		if i > 0 && size > MaxRowBytes {
			return i
		}
	}
	return min(len(es), maxRowEntries)
}

// Check returns an error for a change that is inconsistent, or that has no place in the store.
func Check(c *task.Change) error {
	if c.Next.Version > MaxVersion {
		return fmt.Errorf("version %d is above %d", c.Next.Version, int64(MaxVersion))
	}
	for i := range c.Journal {
		if n := c.Journal[i].Number; n > MaxVersion {
			return fmt.Errorf("record %d is above %d", n, int64(MaxVersion))
		}
	}
	return c.Check()
}
