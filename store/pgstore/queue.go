package pgstore

import (
	"context"
	"sync"
)

// request is a write. Exactly one of change and job is set.
type request struct {
	change change
	job    func(*writer) error
	alone  bool // no other member runs such a job meanwhile
	size   int
	// err is the writer's answer if the batch is committed.
	err  error
	done chan error // of capacity 1, so that the writer never waits
}

// Bytes implements sqlstore.Request.
func (r *request) Bytes() int { return r.size }

// Done implements sqlstore.Request.
func (r *request) Done() chan error { return r.done }

// requests pools requests, because an append should allocate little. A request whose caller has
// returned early belongs to the writer and is not reused.
var requests = sync.Pool{New: func() any { return &request{done: make(chan error, 1)} }}

func (r *request) free() {
	r.change = change{Change: r.change.Emptied()}
	r.job, r.alone, r.size, r.err = nil, false, 0, nil
	requests.Put(r)
}

// write runs job in the writer's next commit and returns when it is durable. An error of job
// means that the database failed: the whole commit is undone.
func (db *DB) write(ctx context.Context, job func(*writer) error) error {
	return db.send(ctx, false, job)
}

// send is write, for a job that may have to run alone: other members run no such job until it is durable.
func (db *DB) send(ctx context.Context, alone bool, job func(*writer) error) error {
	r := requests.Get().(*request)
	r.job, r.alone = job, alone
	answered, err := db.writer.queue.Wait(ctx, r)
	if answered {
		r.free()
	}
	return err
}
