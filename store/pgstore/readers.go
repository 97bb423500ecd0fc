package pgstore

import (
	"context"
	"time"

	"github.com/parley-a2a/parley/internal/store/sqlstore"
)

// readers is a pool of connections that read.
type readers struct {
	*sqlstore.Pool[*conn]
	timeout time.Duration
}

func newReaders(at *place, size int, timeout time.Duration, d *damages) *readers {
	open := func() (*conn, error) {
		c, err := dial(context.Background(), at)
		if err != nil {
			return nil, unavailableNow(err)
		}
		c.damages = d
		return c, nil
	}
	return &readers{sqlstore.NewPool(size, errClosed, open, (*conn).close), timeout}
}

// read runs f with a connection, and once again with another one if the first had ended, for
// example because the database was restarted. f starts anew each time. An error of f means that
// the database failed; read returns it as unavailable.
func (db *DB) read(ctx context.Context, f func(*conn) error) error {
	for {
		c, used, err := db.readers.Take(ctx)
		if err != nil {
			return err
		}
		if err = c.limit(db.readers.timeout); err == nil {
			err = f(c)
		}
		if err == nil {
			db.readers.Put(c)
			return nil
		}
		// A fault that has ended a connection has mostly ended all.
		_ = db.readers.Clear()
		db.readers.Drop(c)
		if !used || !broken(err) {
			return db.writer.damages.met(unavailableNow(err))
		}
	}
}

// view is like read, with one consistent snapshot of the database for all statements of f.
func (db *DB) view(ctx context.Context, f func(*conn) error) error {
	return db.read(ctx, func(c *conn) error {
		if err := c.open(qBegin); err != nil {
			return err
		}
		if err := f(c); err != nil {
			return err // the connection is closed, and the transaction with it
		}
		return c.run(qCommit)
	})
}
