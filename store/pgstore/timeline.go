package pgstore

import (
	"context"
	"fmt"
	"strconv"

	"github.com/parley-a2a/parley/internal/store/sqlstore/tables"
	"github.com/parley-a2a/parley/internal/task"
)

const (
	// defaultKeepMoments is the number of moments that the timeline keeps by default.
	defaultKeepMoments = 100_000
	// numberAfter is the number of its own commits after which a hub numbers moments, even if no reader asks for
	// them, and numberMost bounds the commits that get their positions in one transaction.
	numberAfter = 1024
	numberMost  = 4 * numberAfter
	// tidyMost bounds the number of old moments that are deleted at once.
	tidyMost = 4 * numberMost
)

// newest is the position of the newest moment; zero if there is none.
const newest = "coalesce((SELECT seq + n - 1 FROM timeline ORDER BY seq DESC LIMIT 1), 0)"

var (
	qUnnumbered = prepared("SELECT count(*) FROM (SELECT FROM moments LIMIT 1) one")
	qNumberLock = prepared("SELECT pg_advisory_xact_lock(" + strconv.FormatInt(numberLock, 10) + ")")

	// Rows that are not committed yet get later positions. No position depends on an id, so that none is
	// missing and none is passed.
	qNumber = prepared(`WITH newest AS (SELECT ` + newest + ` AS seq),
	taken AS (DELETE FROM moments WHERE id IN (SELECT id FROM moments ORDER BY id LIMIT $1) RETURNING id, n, data, at)
	INSERT INTO timeline SELECT (newest.seq + sum(n) OVER (ORDER BY id) - n + 1)::bigint, n, data, at FROM taken, newest`)

	qTidyMoments = prepared(`DELETE FROM timeline WHERE seq + n - 1 <= (SELECT max(seq) FROM timeline) - $1
	AND seq <= least((SELECT max(seq) FROM timeline) - $1, (SELECT min(seq) FROM timeline) + $2)`)
	qHeadsOf = prepared("SELECT " + columns + " FROM tasks t WHERE t.key = ANY ($1)")
)

// Timeline implements task.Timeline. Moments get their positions after their commits: before it reads, it
// numbers those without one.
func (t Tasks) Timeline(ctx context.Context, after int64, limit int) (task.TimelinePage, error) {
	if err := t.numbered(ctx); err != nil {
		return task.TimelinePage{}, fmt.Errorf("timeline after %d: %w", after, err)
	}
	return t.Tasks.Timeline(ctx, after, limit)
}

// IndexTexts implements task.Texts. The index follows the positions of moments.
func (t Tasks) IndexTexts(ctx context.Context, limit int) (more bool, err error) {
	if err := t.numbered(ctx); err != nil {
		return false, fmt.Errorf("index texts: %w", err)
	}
	return t.Tasks.IndexTexts(ctx, limit)
}

// numbered gives all moments positions.
func (t Tasks) numbered(ctx context.Context) error {
	left := int64(0)
	err := t.db.read(ctx, func(c *conn) (err error) {
		s := c.start(qUnnumbered)
		left, err = s.only()
		return err
	})
	if err == nil && left > 0 {
		err = t.db.writer.follower.number()
	}
	return err
}

// number gives all moments of committed changes their positions.
func (f *follower) number() error {
	return f.numbers.use(f.numbers.timeout, func(c *conn) error { return c.numberMoments(f.keep) })
}

// numberMoments gives moments positions, and deletes old ones above the number to keep. One hub does so at a
// time; writers do not wait for it.
func (c *conn) numberMoments(keep int) error {
	for {
		if err := c.open(qBeginNow); err != nil {
			return err
		}
		if err := c.run(qNumberLock); err != nil {
			return err
		}
		s := c.start(qNumber)
		s.int(numberMost)
		n, err := s.changed()
		if err != nil {
			return fmt.Errorf("number moments: %w", err)
		}
		s = c.start(qTidyMoments)
		s.int(int64(keep))
		s.int(tidyMost)
		if err := s.done(); err != nil {
			return fmt.Errorf("delete old moments: %w", err)
		}
		if err := c.run(qCommit); err != nil || n < numberMost {
			return err
		}
	}
}

// Heads implements tables.TaskDB.
func (shared) Heads(c tables.Conn, keys []int64) ([]task.Head, error) {
	s := c.(*conn).start(qHeadsOf)
	s.ints(keys)
	return listed(&s)
}
