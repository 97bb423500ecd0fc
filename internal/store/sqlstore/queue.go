package sqlstore

import (
	"cmp"
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/parley-a2a/parley/internal/wake"
)

// Limits of a batch, so that a commit stays short and its callers get their answers soon.
const (
	// MaxBatch is the largest number of requests of a batch.
	MaxBatch      = 256
	maxBatchBytes = 4 << 20
	// maxLargeBytes is that of a batch of large requests, of which each has at least one.
	maxLargeBytes = 1 << 20
)

// Large requests make way for small ones, because a commit takes as long as the disk needs for all
// its bytes.
const (
	// largeBytes is the size from which a request is large.
	largeBytes = 256 << 10
	// maxPassed is the number of batches of small requests that may pass a large one.
	maxPassed = 8
	// maxRest bounds the time after a commit of large requests in which the next one waits for
	// small requests, and lively the time since the last small one in which it does so.
	maxRest = 250 * time.Millisecond
	lively  = time.Second
)

// A Request is a write that waits for a writer. Bytes returns its size. The writer sends its
// answer to Done, which has the capacity 1, so that the writer never waits.
type Request interface {
	Bytes() int
	Done() chan error
}

// Queue holds requests until the writer takes them. Small requests pass large ones, which are never
// in the same batch; among themselves both keep their order. After a batch of large requests, small
// ones have the writer for as long as that batch has taken. Its methods are safe for concurrent use.
type Queue[R Request] struct {
	wake    wake.Signal // a request waits, or the queue is closed
	refusal error       // of requests after Close

	mu      sync.Mutex // guards the fields below
	waiting []R        // small ones
	large   []R
	closed  bool
	failed  error // of all further requests; nil while they are accepted
	pace    pace
	// wanted is the number of waiting requests for which Gather waits; zero if it does not wait.
	wanted int
	enough wake.Signal
}

// pace spaces out the batches of large requests.
type pace struct {
	passed int       // batches of small requests since the last batch of large ones
	small  time.Time // of the last batch of small requests
	began  time.Time // of the batch of large requests that the writer has; zero if it has none
	rest   time.Time // until then, the next batch of large requests waits for small ones
}

// NewQueue returns an empty queue. After Close, it refuses requests with the error refusal.
func NewQueue[R Request](refusal error) *Queue[R] {
	return &Queue[R]{wake: wake.New(), enough: wake.New(), refusal: refusal}
}

// Send adds r for the writer, and does not wait for the answer. It returns an error if the queue is
// closed or has failed.
func (q *Queue[R]) Send(r R) error {
	q.mu.Lock()
	if q.closed || q.failed != nil {
		defer q.mu.Unlock()
		return cmp.Or(q.failed, q.refusal)
	}
	list := &q.waiting
	if r.Bytes() >= largeBytes {
		list = &q.large
	}
	*list = append(*list, r)
	first := len(*list) == 1
	enough := q.wanted > 0 && len(q.waiting) >= q.wanted
	q.mu.Unlock()
	if first {
		q.wake.Send()
	}
	if enough {
		q.enough.Send()
	}
	return nil
}

// Fail answers all requests with err, those that wait and further ones.
func (q *Queue[R]) Fail(err error) {
	q.mu.Lock()
	q.failed = err
	waiting := append(q.waiting, q.large...)
	q.waiting, q.large = nil, nil
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
	q.enough.Send()
}

// Waiting returns the number of requests that no Take has returned.
func (q *Queue[R]) Waiting() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.waiting) + len(q.large)
}

// Take waits for requests and appends a batch of them to the empty batch. It returns nil when
// the queue is closed and empty. One goroutine calls it.
func (q *Queue[R]) Take(batch []R) []R {
	for {
		q.mu.Lock()
		list, rest := q.next(time.Now())
		if list != nil {
			most := maxBatchBytes
			if list == &q.large {
				most = maxLargeBytes
			}
			batch = cut(batch, list, most)
		}
		closed := q.closed
		q.mu.Unlock()
		switch {
		case list != nil:
			return batch
		case rest > 0:
			late := time.NewTimer(rest)
			select {
			case <-q.wake:
			case <-late.C:
			}
			late.Stop()
		case closed:
			return nil
		default:
			<-q.wake
		}
	}
}

// Gather waits until n more requests wait than now, at most for the time d. The writer calls it after a long
// commit, with the number of callers that have just got their answers: most have another request at once, and
// would otherwise wait for the whole commit of those that wait already.
func (q *Queue[R]) Gather(n int, d time.Duration) {
	q.mu.Lock()
	if q.closed || len(q.large) > 0 {
		q.mu.Unlock()
		return
	}
	q.wanted = min(len(q.waiting)+n, MaxBatch)
	select {
	case <-q.enough: // of an earlier call
	default:
	}
	q.mu.Unlock()
	late := time.NewTimer(d)
	defer late.Stop()
	select {
	case <-q.enough:
	case <-late.C:
	}
	q.mu.Lock()
	q.wanted = 0
	q.mu.Unlock()
}

// next returns the requests to take a batch from. If only large ones wait that have to rest, it
// returns the time that is left. The caller holds mu.
func (q *Queue[R]) next(now time.Time) (list *[]R, rest time.Duration) {
	p := &q.pace
	if !p.began.IsZero() {
		p.rest, p.began = now.Add(min(now.Sub(p.began), maxRest)), time.Time{}
	}
	switch resting := now.Before(p.rest); {
	case len(q.waiting) > 0 && (len(q.large) == 0 || resting || p.passed < maxPassed):
		p.small = now
		if len(q.large) > 0 {
			p.passed++
		}
		return &q.waiting, 0
	case len(q.large) == 0:
		return nil, 0
	case resting && !q.closed && now.Sub(p.small) < lively:
		return nil, p.rest.Sub(now)
	}
	p.passed, p.began = 0, now
	return &q.large, 0
}

// cut moves requests of most bytes from list to batch, at least one.
func cut[R Request](batch []R, list *[]R, most int) []R {
	n, size, waiting := 0, 0, *list
	for n < len(waiting) && len(batch)+n < MaxBatch {
		size += waiting[n].Bytes()
		if n > 0 && size > most {
			break
		}
		n++
	}
	batch = append(batch, waiting[:n]...)
	rest := copy(waiting, waiting[n:])
	clear(waiting[rest:])
	*list = waiting[:rest]
	return batch
}

// Wait passes r to the writer and waits for its answer. If answered is false, r may still belong
// to the writer, and the caller must not use it again.
func (q *Queue[R]) Wait(ctx context.Context, r R) (answered bool, err error) {
	if ctx.Err() != nil {
		return false, context.Cause(ctx)
	}
	if err := q.Send(r); err != nil {
		return false, err
	}
	select {
	case err := <-r.Done():
		return true, err
	case <-ctx.Done():
		return false, fmt.Errorf("outcome unknown: %w", context.Cause(ctx))
	}
}
