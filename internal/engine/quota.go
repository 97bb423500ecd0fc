package engine

import (
	"sync"
	"time"

	"github.com/parley-a2a/parley/internal/apierror"
	"github.com/parley-a2a/parley/task"
)

// retryStreams is the delay after which a refused caller may try again to open a stream.
const retryStreams = 5 * time.Second

// quota counts the open streams. A negative limit means no limit.
type quota struct {
	each, total int

	mu   sync.Mutex // guards the fields below
	open int
	by   map[task.Owner]int
}

// acquire counts a stream of owner, or returns an error if there are too many.
func (q *quota) acquire(owner task.Owner) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.each >= 0 && q.by[owner] >= q.each {
		return tooMany("too many open streams of this caller")
	}
	if q.total >= 0 && q.open >= q.total {
		return tooMany("too many open streams")
	}
	if q.by == nil {
		q.by = make(map[task.Owner]int)
	}
	q.by[owner]++
	q.open++
	return nil
}

// release releases a stream counted by take.
func (q *quota) release(owner task.Owner) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.open--
	if q.by[owner]--; q.by[owner] == 0 {
		delete(q.by, owner)
	}
}

func tooMany(message string) error {
	return &apierror.Error{Err: apierror.ErrExhausted, Message: message, RetryAfter: retryStreams}
}
