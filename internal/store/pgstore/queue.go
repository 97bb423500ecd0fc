package pgstore

import (
	"context"
	"fmt"
	"sync"

	"github.com/parley-a2a/parley/internal/wake"
)

// Limits of a batch, so that a commit stays short and its callers get their answers soon.
const (
	maxBatch      = 256
	maxBatchBytes = 4 << 20
)

// request is a write. Exactly one of change and job is set.
type request struct {
	change change
	job    func(*writer) error
	size   int
	// err is the writer's answer if the batch is committed.
	err  error
	done chan error // of capacity 1, so that the writer never waits
}

// requestQueue holds requests until the writer takes them. Methods are safe for concurrent
// use.
type requestQueue struct {
	wake wake.Signal // a request waits, or the queue is closed

	mu      sync.Mutex // guards the fields below
	waiting []*request
	closed  bool
}

func newQueue() *requestQueue { return &requestQueue{wake: wake.New()} }

// put adds r for the writer. It reports false if the queue is closed.
func (q *requestQueue) put(r *request) bool {
	q.mu.Lock()
	if q.closed {
		q.mu.Unlock()
		return false
	}
	q.waiting = append(q.waiting, r)
	first := len(q.waiting) == 1
	q.mu.Unlock()
	if first {
		q.wake.Send()
	}
	return true
}

func (q *requestQueue) close() {
	q.mu.Lock()
	q.closed = true
	q.mu.Unlock()
	q.wake.Send()
}

// take waits for requests and appends a batch of them to the empty batch. It returns nil when
// the queue is closed and empty.
func (q *requestQueue) take(batch []*request) []*request {
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
func (q *requestQueue) cut(batch []*request) []*request {
	n, size := 0, 0
	for n < len(q.waiting) && n < maxBatch {
		size += q.waiting[n].size
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

// requests pools requests, because an append should allocate little. A request whose caller has
// returned early belongs to the writer and is not reused.
var requests = sync.Pool{New: func() any { return &request{done: make(chan error, 1)} }}

// maxKept is the largest buffer that is reused.
const maxKept = 64 << 10

// kept returns an empty buffer for the next use of b.
func kept(b []byte) []byte {
	if cap(b) > maxKept {
		return nil
	}
	return b[:0]
}

func (r *request) free() {
	r.change = change{rows: r.change.rows[:0], rest: kept(r.change.rest), data: kept(r.change.data)}
	r.job, r.size, r.err = nil, 0, nil
	requests.Put(r)
}

// wait passes r to the writer and waits for its answer. If the writer has answered, the caller
// frees r.
func (q *requestQueue) wait(ctx context.Context, r *request) (answered bool, err error) {
	if ctx.Err() != nil {
		return false, context.Cause(ctx)
	}
	if !q.put(r) {
		return false, errClosed
	}
	select {
	case err := <-r.done:
		return true, err
	case <-ctx.Done():
		return false, fmt.Errorf("outcome unknown: %w", context.Cause(ctx))
	}
}

// write runs job in the writer's next commit and returns when it is durable. An error of job
// means that SQLite failed: the whole commit is undone.
func (db *DB) write(ctx context.Context, job func(*writer) error) error {
	r := requests.Get().(*request)
	r.job = job
	answered, err := db.writer.queue.wait(ctx, r)
	if answered {
		r.free()
	}
	return err
}
