package pgstore

import (
	"bytes"
	"context"
	"fmt"

	"github.com/parley-a2a/parley/internal/store/sqlstore"
	"github.com/parley-a2a/parley/internal/varint"
	"github.com/parley-a2a/parley/task"
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
	qAddMoments  = prepared("INSERT INTO timeline VALUES ($1, $2, $3)")
	qLastMoment  = prepared("SELECT coalesce((SELECT seq + n - 1 FROM timeline ORDER BY seq DESC LIMIT 1), 0)")
	qFirstMoment = prepared("SELECT coalesce(min(seq), 0) FROM timeline")
	qTidyMoments = prepared(`DELETE FROM timeline
	WHERE seq <= least($1, (SELECT min(seq) FROM timeline) + $2) AND seq + n - 1 <= $1`)
	qTimelineID = prepared("SELECT name FROM timeline_id WHERE one = 1")

	// A row holds the moments from its position on, so the row before $1 is read as well.
	qMoments = prepared(`SELECT seq, data FROM timeline
	WHERE seq >= coalesce((SELECT max(seq) FROM timeline WHERE seq <= $1), $1) ORDER BY seq LIMIT $2`)

	qHeadsOf = prepared("SELECT " + columns + " FROM tasks t WHERE t.key = ANY ($1)")
)

// moments are the moments of the commit that the writer makes.
type moments struct {
	sqlstore.Moments
	// last is the position of the newest committed moment; negative if it is not known.
	last int64
}

// addChange adds a change, if it has entries.
func (m *moments) addChange(ch *change) {
	if len(ch.rows) > 0 {
		m.AddChange(ch.next.Key, ch.rows[0].first, ch.next.Version)
	}
}

// flushMoments inserts the moments of a commit as one row, and deletes old rows from time to
// time.
func (w *writer) flushMoments() error {
	m := &w.moments
	if m.N == 0 {
		return nil
	}
	if m.last < 0 {
		s := w.conn.start(qLastMoment)
		last, err := s.only()
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
	if m.last <= int64(w.o.KeepMoments) || before/tidyMoments == m.last/tidyMoments {
		return nil
	}
	s = w.conn.start(qTidyMoments)
	s.int(m.last - int64(w.o.KeepMoments))
	s.int(tidyMost)
	if err := s.done(); err != nil {
		return fmt.Errorf("delete old moments: %w", err)
	}
	return nil
}

// AddNotices implements task.Timeline.
func (t Tasks) AddNotices(ctx context.Context, notices [][]byte) error {
	if err := task.CheckNotices(notices); err != nil {
		return fmt.Errorf("add notices: %w", err)
	}
	own := make([][]byte, len(notices))
	for i, n := range notices {
		own[i] = bytes.Clone(n) // the writer may use it after the caller has returned
	}
	err := t.db.write(ctx, func(w *writer) error {
		for _, n := range own {
			w.moments.AddNotice(n)
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("add notices: %w", err)
	}
	return nil
}

// Timeline implements task.Timeline.
func (t Tasks) Timeline(ctx context.Context, after int64, limit int) (task.TimelinePage, error) {
	if limit <= 0 {
		return task.TimelinePage{}, fmt.Errorf("timeline: limit %d is not positive", limit)
	}
	var page task.TimelinePage
	err := t.db.view(ctx, func(c *conn) (err error) {
		page, err = timeline(c, max(after, 0), limit)
		return err
	})
	if err != nil {
		return task.TimelinePage{}, fmt.Errorf("timeline after %d: %w", after, err)
	}
	return page, nil
}

func timeline(c *conn, after int64, limit int) (page task.TimelinePage, err error) {
	s := c.start(qTimelineID)
	if s.next() {
		page.ID = s.getText()
	}
	if s.err != nil {
		return page, s.err
	}
	s = c.start(qFirstMoment)
	if page.Oldest, err = s.only(); err != nil {
		return page, err
	}
	s = c.start(qLastMoment)
	if page.Newest, err = s.only(); err != nil || page.Newest <= after {
		return page, err
	}
	if page.Moments, err = readMoments(c, after, limit); err != nil {
		return page, err
	}
	return page, addHeads(c, page.Moments)
}

// readMoments returns up to limit moments above after, without heads.
func readMoments(c *conn, after int64, limit int) (found []task.Moment, err error) {
	s := c.start(qMoments)
	s.int(after + 1)
	s.int(int64(limit))
	for len(found) < limit && s.next() {
		seq := s.getInt()
		r := varint.Reader{Left: s.getBlob()}
		for ; len(r.Left) > 0 && len(found) < limit; seq++ {
			m := sqlstore.DecodeMoment(&r)
			if m.Seq = seq; r.Bad {
				return nil, fmt.Errorf("%w: moment %d", ErrDamaged, seq)
			}
			if seq > after {
				found = append(found, m)
			}
		}
	}
	return found, s.err
}

// addHeads reads the heads of the tasks of moments.
func addHeads(c *conn, all []task.Moment) error {
	var keys []int64
	for i := range all {
		if m := &all[i]; m.Key != 0 {
			keys = append(keys, int64(m.Key))
		}
	}
	s := c.start(qHeadsOf)
	s.ints(keys)
	found, err := heads(&s)
	if err != nil {
		return err
	}
	byKey := make(map[task.Key]task.Head, len(found))
	for _, h := range found {
		byKey[h.Key] = h
	}
	for i := range all {
		all[i].Head = byKey[all[i].Key]
	}
	return nil
}
