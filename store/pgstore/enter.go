package pgstore

import (
	"context"
	"errors"
	"time"

	"github.com/parley-a2a/parley/internal/backoff"
	"github.com/parley-a2a/parley/internal/store/sqlstore"
)

// first connects, migrates the schema to the newest layout and begins an epoch: as a member, or as the only hub.
func (db *DB) first(ctx context.Context, store *place) error {
	direct, o := db.member.place, db.member.o
	c, err := dial(ctx, direct)
	if err != nil {
		return err
	}
	err = c.checkEncoding()
	if err == nil && direct != store {
		err = c.checkDirect(ctx, direct, store)
	}
	if err == nil {
		err = db.enter(ctx, c)
	}
	if err != nil {
		return errors.Join(err, c.close())
	}
	if o.Member == nil {
		db.writer.use(c)
	} else {
		db.member.conn, db.polls = c, c.local != ""
	}
	return nil
}

// enter keeps other hubs out as far as it must, and begins an epoch.
func (db *DB) enter(ctx context.Context, c *conn) (err error) {
	o := db.member.o
	switch {
	case o.Member == nil:
		err = c.exclude(ctx, o)
	case c.local == "":
		err = lock(ctx, c, o)
	}
	if err != nil {
		return err
	}
	steps, err := sqlstore.Migrations(schema)
	if err == nil {
		err = migrate(ctx, c, steps)
	}
	if err != nil {
		return err
	}
	if o.Member == nil {
		if err = c.script(ctx, "UPDATE hubs SET ended = 2 WHERE ended = 0"); err == nil {
			db.writer.epoch, err = c.epoch(ctx, beginEpoch)
		}
		return err
	}
	return patient(ctx, func() error {
		if err := c.limit(o.Timeout); err != nil {
			return err
		}
		epoch, err := c.join(o.Member, o.Lease, 0)
		if err == nil {
			db.writer.joined.Store(epoch)
		} else if errors.As(err, new(leased)) {
			err = errors.Join(err, c.script(ctx, "ROLLBACK"))
		}
		return err
	})
}

// leased is an error because of a lease that has not ended.
type leased struct {
	error
	left time.Duration
}

func (e leased) Unwrap() error { return e.error }

// patient runs f again once the lease has ended that was the reason of its error: a hub that runs has renewed it
// meanwhile. f must not leave the connection in a transaction.
func patient(ctx context.Context, f func() error) error {
	err := f()
	if e, ok := errors.AsType[leased](err); ok {
		if err := backoff.Sleep(ctx, e.left); err != nil {
			return err
		}
		err = f()
	}
	return err
}

// unleased returns an error while a member has a lease: behind a pooler, members have no locks.
func (c *conn) unleased(ctx context.Context) error {
	there, err := c.has(ctx, "hubs")
	if err != nil || !there {
		return err
	}
	left, err := c.epoch(ctx, "SELECT coalesce(max(lease_until - "+clock+"), 0) FROM hubs WHERE ended = 0")
	if err == nil && left > 0 {
		err = leased{errInUse, time.Duration(left) * time.Millisecond}
	}
	return err
}
