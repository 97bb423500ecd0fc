package task

import (
	"context"
	"errors"
	"fmt"
)

// MaxNotice is the maximum size of a notice in bytes.
const MaxNotice = 8 << 10

// ErrNotice is wrapped by the error for a notice that is empty or larger than MaxNotice: a
// mistake of the store's caller.
var ErrNotice = errors.New("notice is empty or too large")

// Moment is one step of a Timeline: a change with entries, or a notice.
type Moment struct {
	// Seq is the position of the moment: greater than those of all earlier moments.
	Seq int64
	// Key is the task of a change; zero for a notice.
	Key Key
	// Head is the current head of the task. Its Key is zero for a notice, and if the task has
	// been deleted.
	Head Head
	// First and Last are the versions of the entries of a change.
	First, Last int64
	// Notice is the text of a notice; nil for a change.
	Notice []byte
}

// TimelinePage is a page of a Timeline.
type TimelinePage struct {
	// ID names the sequence of positions. A store that counts anew has another ID.
	ID string
	// Oldest is the position of the oldest kept moment, and Newest that of the newest; both are
	// zero if there are none. Older moments existed if Oldest is greater than 1.
	Oldest, Newest int64
	// Moments are ordered by their positions.
	Moments []Moment
}

// Timeline is the order in which the changes of all tasks became durable, with notices of other
// events between them. A store adds each change that has entries in the step that stores the
// change. It keeps a limited number of moments and drops the oldest beyond it.
type Timeline interface {
	// Timeline returns up to limit moments with positions above after.
	Timeline(ctx context.Context, after int64, limit int) (TimelinePage, error)
	// AddNotices adds notices, and returns when they are durable. It does not retain them. It
	// returns ErrNotice and adds none if one of them is invalid.
	AddNotices(ctx context.Context, notices [][]byte) error
}

// CheckNotices returns an error that wraps ErrNotice if a notice is invalid.
func CheckNotices(notices [][]byte) error {
	for i, n := range notices {
		if len(n) == 0 || len(n) > MaxNotice {
			return fmt.Errorf("%w: number %d has %d bytes", ErrNotice, i, len(n))
		}
	}
	return nil
}
