package sqlstore

import (
	"cmp"
	"context"
	"fmt"
	"sync"

	"github.com/parley-a2a/parley/internal/wake"
)

// Limits of a batch, so that a commit stays short and its callers get their answers soon.
const (
	// MaxBatch is the largest number of requests of a batch.
	MaxBatch      = 256
	maxBatchBytes = 4 << 20
)

// A Request is a write that waits for a writer. Bytes returns its size. The writer sends its
// answer to Done, which has the capacity 1, so that the writer never waits.
type Request interface {
	Bytes() int
	Done() chan error
}

// Queue holds requests until the writer takes them. Its methods are safe for concurrent use.
type Queue[R Request] struct {
	wake    wake.Signal // a request waits, or the queue is closed
	refusal error       // of requests after Close

	mu      sync.Mutex // guards the fields below
	waiting []R
	closed  bool
	failed  error // of all further requests; nil while they are accepted
}

// NewQueue returns an empty queue. After Close, it refuses requests with the error refusal.
func NewQueue[R Request](refusal error) *Queue[R] {
	return &Queue[R]{wake: wake.New(), refusal: refusal}
}

// put adds r for the writer. It returns an error if the queue is closed or has failed.
func (q *Queue[R]) put(r R) error {
	q.mu.Lock()
	if q.closed || q.failed != nil {
		defer q.mu.Unlock()
		return cmp.Or(q.failed, q.refusal)
	}
	q.waiting = append(q.waiting, r)
	first := len(q.waiting) == 1
	q.mu.Unlock()
	if first {
		q.wake.Send()
	}
	return nil
}

// Fail answers all requests with err, those that wait and further ones.
func (q *Queue[R]) Fail(err error) {
	q.mu.Lock()
	q.failed = err
	waiting := q.waiting
	q.waiting = nil
	q.mu.Unlock()
	for _, r := range waiting {
		r.Done() <- err
	}
}

// Close refuses further requests. Take still returns those that wait.
func (q *Queue[R]) Close() {
	q.mu.Lock()
	q.closed = true
	q.mu.Unlock()
	q.wake.Send()
}

// Waiting returns the number of requests that no Take has returned.
func (q *Queue[R]) Waiting() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.waiting)
}

// Take waits for requests and appends a batch of them to the empty batch. It returns nil when
// the queue is closed and empty. One goroutine calls it.
func (q *Queue[R]) Take(batch []R) []R {
	for {
		q.mu.Lock()
		if len(q.waiting) > 0 {
			batch = q.cut(batch)
			q.mu.Unlock()
			return batch
		}
		closed := q.closed
		q.mu.Unlock()
		if closed {
			return nil
		}
		<-q.wake
	}
}

// cut moves requests to batch, at least one. The caller holds mu.
func (q *Queue[R]) cut(batch []R) []R {
	n, size := 0, 0
	for n < len(q.waiting) && n < MaxBatch {
		size += q.waiting[n].Bytes()
		if n > 0 && size > maxBatchBytes {
			break
		}
		n++
	}
	batch = append(batch, q.waiting[:n]...)
	rest := copy(q.waiting, q.waiting[n:])
	clear(q.waiting[rest:])
	q.waiting = q.waiting[:rest]
	return batch
}

// Wait passes r to the writer and waits for its answer. If answered is false, r may still belong
// to the writer, and the caller must not use it again.
func (q *Queue[R]) Wait(ctx context.Context, r R) (answered bool, err error) {
	if ctx.Err() != nil {
		return false, context.Cause(ctx)
	}
	if err := q.put(r); err != nil {
		return false, err
	}
	select {
	case err := <-r.Done():
		return true, err
	case <-ctx.Done():
		return false, fmt.Errorf("outcome unknown: %w", context.Cause(ctx))
	}
}
