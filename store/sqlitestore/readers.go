package sqlitestore

import (
	"context"

	"github.com/parley-a2a/parley/internal/store/sqlstore"
)

// newReaders returns a pool of connections that read.
func newReaders(opts connOptions, size int, met func(subject, error)) *sqlstore.Pool[*conn] {
	return sqlstore.NewPool(size, errClosed, func() (*conn, error) {
		c, err := openConn(opts)
		if err != nil {
			return nil, unavailable(err)
		}
		c.met = met
		return c, nil
	}, (*conn).close)
}

// read runs f with a connection. An error of f means that SQLite failed; read returns it as
// unavailable.
func (db *DB) read(ctx context.Context, f func(*conn) error) error {
	return db.readOf(ctx, subject{}, f)
}

// readOf is like read, for the data of one task.
func (db *DB) readOf(ctx context.Context, of subject, f func(*conn) error) error {
	c, _, err := db.readers.Take(ctx)
	if err != nil {
		return err
	}
	if err := f(c); err != nil {
		db.readers.Drop(c)
		err = unavailable(err)
		db.met(of, err)
		return err
	}
	db.readers.Put(c)
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
