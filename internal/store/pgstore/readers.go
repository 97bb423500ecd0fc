package pgstore

import (
	"context"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
)

// readers is a pool of connections that read.
type readers struct {
	config  *pgconn.Config
	timeout time.Duration
	// slots holds a token for each connection that may be taken.
	slots chan struct{}
	size  int

	mu     sync.Mutex // guards the fields below
	idle   []*conn    // the one used last is taken first: its cache is warm
	closed bool
}

func newReaders(config *pgconn.Config, size int, timeout time.Duration) *readers {
	r := &readers{config: config, slots: make(chan struct{}, size), size: size, timeout: timeout}
	for range size {
		r.slots <- struct{}{}
	}
	return r
}

// take waits for a connection. It reports whether the connection was used before.
func (r *readers) take(ctx context.Context) (c *conn, used bool, err error) {
	if err := ctx.Err(); err != nil {
		return nil, false, context.Cause(ctx)
	}
	select {
	case <-r.slots:
	case <-ctx.Done():
		return nil, false, context.Cause(ctx)
	}
	c, used, err = r.pop()
	if err != nil {
		r.slots <- struct{}{}
	}
	return c, used, err
}

func (r *readers) pop() (c *conn, used bool, err error) {
	r.mu.Lock()
	if r.closed {
		r.mu.Unlock()
		return nil, false, errClosed
	}
	if n := len(r.idle); n > 0 {
		c := r.idle[n-1]
		r.idle = r.idle[:n-1]
		r.mu.Unlock()
		return c, true, nil
	}
	r.mu.Unlock()
	c, err = dial(context.Background(), r.config)
	if err != nil {
		return nil, false, unavailableNow(err)
	}
	return c, false, nil
}

// put returns c to the pool.
func (r *readers) put(c *conn) {
	r.mu.Lock()
	r.idle = append(r.idle, c)
	r.mu.Unlock()
	r.slots <- struct{}{}
}

// drop removes a failed connection from the pool, and all idle ones with it: a fault that has
// ended one of them has mostly ended all.
func (r *readers) drop(c *conn) {
	r.mu.Lock()
	idle := r.idle
	r.idle = nil
	r.mu.Unlock()
	for _, other := range append(idle, c) {
		_ = other.close() // it may have failed already
	}
	r.slots <- struct{}{}
}

// close waits for running reads and closes all connections.
func (r *readers) close() {
	r.mu.Lock()
	r.closed = true
	r.mu.Unlock()
	for range r.size {
		<-r.slots
	}
	// Calls that wait for a slot now find the pool closed.
	for range r.size {
		r.slots <- struct{}{}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, c := range r.idle {
		_ = c.close()
	}
	r.idle = nil
}

// read runs f with a connection, and once again with another one if the first had ended, for
// example because the database was restarted. f starts anew each time. An error of f means that
// the database failed; read returns it as unavailable.
func (db *DB) read(ctx context.Context, f func(*conn) error) error {
	for {
		c, used, err := db.readers.take(ctx)
		if err != nil {
			return err
		}
		if err = c.limit(db.readers.timeout); err == nil {
			err = f(c)
		}
		if err == nil {
			db.readers.put(c)
			return nil
		}
		db.readers.drop(c)
		if !used || !broken(err) {
			return db.writer.damages.met(unavailableNow(err))
		}
	}
}

// view is like read, with one consistent snapshot of the database for all statements of f.
func (db *DB) view(ctx context.Context, f func(*conn) error) error {
	return db.read(ctx, func(c *conn) error {
		if err := c.run(qBegin); err != nil {
			return err
		}
		if err := f(c); err != nil {
			return err // the connection is closed, and the transaction with it
		}
		return c.run(qCommit)
	})
}
