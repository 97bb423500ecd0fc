package sqlitestore

import (
	"context"
	"errors"
	"sync"
)

// readers is a pool of connections that read.
type readers struct {
	opts connOptions
	// slots holds a token for each connection that may be taken.
	slots chan struct{}
	size  int

	mu     sync.Mutex // guards the fields below
	idle   []*conn    // the one used last is taken first: its cache is warm
	closed bool
}

func newReaders(opts connOptions, size int) *readers {
	r := &readers{opts: opts, slots: make(chan struct{}, size), size: size}
	for range size {
		r.slots <- struct{}{}
	}
	return r
}

// take waits for a connection.
func (r *readers) take(ctx context.Context) (*conn, error) {
	if err := ctx.Err(); err != nil {
		return nil, context.Cause(ctx)
	}
	select {
	case <-r.slots:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	c, err := r.pop()
	if err != nil {
		r.slots <- struct{}{}
	}
	return c, err
}

func (r *readers) pop() (*conn, error) {
	r.mu.Lock()
	if r.closed {
		r.mu.Unlock()
		return nil, errClosed
	}
	if n := len(r.idle); n > 0 {
		c := r.idle[n-1]
		r.idle = r.idle[:n-1]
		r.mu.Unlock()
		return c, nil
	}
	r.mu.Unlock()
	c, err := openConn(r.opts)
	if err != nil {
		return nil, unavailable(err)
	}
	return c, nil
}

// put returns c to the pool.
func (r *readers) put(c *conn) {
	r.mu.Lock()
	r.idle = append(r.idle, c)
	r.mu.Unlock()
	r.slots <- struct{}{}
}

// drop removes a failed connection from the pool.
func (r *readers) drop(c *conn) {
	_ = c.close() // it has failed already
	r.slots <- struct{}{}
}

// close waits for running reads and closes all connections.
func (r *readers) close() error {
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
	var errs []error
	for _, c := range r.idle {
		errs = append(errs, c.close())
	}
	r.idle = nil
	return errors.Join(errs...)
}

// read runs f with a connection. An error of f means that SQLite failed; read returns it as
// unavailable.
func (db *DB) read(ctx context.Context, f func(*conn) error) error {
	return db.readOf(ctx, subject{}, f)
}

// readOf is like read, for the data of one task.
func (db *DB) readOf(ctx context.Context, of subject, f func(*conn) error) error {
	c, err := db.readers.take(ctx)
	if err != nil {
		return err
	}
	if err := f(c); err != nil {
		db.readers.drop(c)
		err = unavailable(err)
		db.met(of, err)
		return err
	}
	db.readers.put(c)
	return nil
}

// view is like read, with one consistent snapshot of the file for all statements of f.
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
