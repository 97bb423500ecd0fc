package sqlitestore

import (
	"fmt"

	"github.com/parley-a2a/parley/internal/store/sqlstore"
	"github.com/parley-a2a/parley/internal/store/sqlstore/tables"
	"github.com/parley-a2a/parley/internal/task"
)

const (
	// defaultKeepMoments is the number of moments that the timeline keeps by default.
	defaultKeepMoments = 100_000
	// tidyMoments is the number of new moments after which old ones are deleted, and tidyMost
	// bounds the number that is deleted then.
	tidyMoments = 1024
	tidyMost    = 4 * tidyMoments
)

var (
	qAddMoments  = prepared("INSERT INTO timeline VALUES (?, ?, ?)")
	qTidyMoments = prepared(`DELETE FROM timeline
	WHERE seq <= min(?1, (SELECT min(seq) FROM timeline) + ?2) AND seq + n - 1 <= ?1`)
	qHeadOf = prepared("SELECT " + columns + " FROM tasks t WHERE t.key = ?")
)

// moments are the moments of the commit that the writer makes.
type moments struct {
	sqlstore.Moments
	// last is the position of the newest committed moment; negative if it is not known.
	last int64
}

// flushMoments inserts the moments of a commit as one row, and deletes old rows from time to
// time.
func (w *writer) flushMoments() error {
	m := &w.moments
	if m.N == 0 {
		return nil
	}
	if m.last < 0 {
		last, err := tables.LastMoment(w.conn)
		if err != nil {
			return fmt.Errorf("last moment: %w", err)
		}
		m.last = last
	}
	s := w.conn.start(qAddMoments)
	s.int(m.last + 1)
	s.int(m.N)
	s.blob(m.Data)
	if err := s.done(); err != nil {
		return fmt.Errorf("insert moments after %d: %w", m.last, err)
	}
	before := m.last
	m.last += m.N
	if m.last <= w.keepMoments || before/tidyMoments == m.last/tidyMoments {
		return nil
	}
	s = w.conn.start(qTidyMoments)
	s.int(m.last - w.keepMoments)
	s.int(tidyMost)
	if err := s.done(); err != nil {
		return fmt.Errorf("delete old moments: %w", err)
	}
	return nil
}

// Heads implements tables.TaskDB.
func (shared) Heads(c tables.Conn, keys []int64) ([]task.Head, error) {
	all := make([]task.Head, 0, len(keys))
	for _, key := range keys {
		s := c.(*conn).start(qHeadOf)
		s.int(key)
		if s.next() {
			all = append(all, task.Head{})
			if err := s.readListed(&all[len(all)-1]); err != nil {
				return nil, err // the connection is closed
			}
			s.close()
		}
		if s.err != nil {
			return nil, s.err
		}
	}
	return all, nil
}
