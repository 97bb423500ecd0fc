package tables

import (
	"bytes"
	"context"
	"fmt"

	"github.com/parley-a2a/parley/internal/store/sqlstore"
	"github.com/parley-a2a/parley/internal/task"
	"github.com/parley-a2a/parley/internal/varint"
)

var (
	qLastMoment = prepared(`SELECT coalesce((SELECT seq + n - 1 FROM timeline
	/*sqlite WHERE seq = (SELECT max(seq) FROM timeline)*/ /*postgres{*/ ORDER BY seq DESC LIMIT 1 /*}*/), 0)`)
	qFirstMoment = prepared("SELECT coalesce(min(seq), 0) FROM timeline")
	qTimelineID  = prepared("SELECT name FROM timeline_id WHERE one = 1")

	// A row holds the moments from its position on, so the row before $1 is read as well.
	qMoments = prepared(`SELECT seq, data FROM timeline
	WHERE seq >= coalesce((SELECT max(seq) FROM timeline WHERE seq <= $1), $1) ORDER BY seq LIMIT $2`)
)

// AddNotices implements task.Timeline.
func (t Tasks) AddNotices(ctx context.Context, notices [][]byte) error {
	err := task.CheckNotices(notices)
	if err == nil {
		own := make([][]byte, len(notices))
		for i, n := range notices {
			own[i] = bytes.Clone(n) // the writer may use it after the caller has returned
		}
		err = t.DB.Change(ctx, func(ch *Change) error {
			for _, n := range own {
				ch.Moments.AddNotice(n)
			}
			return nil
		})
	}
	if err != nil {
		return fmt.Errorf("add notices: %w", err)
	}
	return nil
}

// Timeline implements task.Timeline.
func (t Tasks) Timeline(ctx context.Context, after int64, limit int) (page task.TimelinePage, err error) {
	if limit <= 0 {
		return task.TimelinePage{}, fmt.Errorf("timeline: limit %d must be positive", limit)
	}
	err = t.DB.View(ctx, func(c Conn) error {
		page = task.TimelinePage{}
		return t.timeline(c, &page, max(after, 0), limit)
	})
	if err != nil {
		return task.TimelinePage{}, fmt.Errorf("timeline after %d: %w", after, err)
	}
	return page, nil
}

func (t Tasks) timeline(c Conn, page *task.TimelinePage, after int64, limit int) (err error) {
	err = eachRow(c, qTimelineID, nil, func(row Row) error {
		page.ID = row.Text()
		return nil
	})
	if err != nil {
		return err
	}
	if page.Oldest, err = only(c, qFirstMoment); err != nil {
		return err
	}
	if page.Newest, err = LastMoment(c); err != nil || page.Newest <= after {
		return err
	}
	if page.Moments, err = t.moments(c, after, limit); err != nil {
		return err
	}
	return t.addHeads(c, page.Moments)
}

// LastMoment returns the position of the newest moment; zero if there is none.
func LastMoment(c Conn) (int64, error) { return only(c, qLastMoment) }

// moments returns up to limit moments above after, without heads.
func (t Tasks) moments(c Conn, after int64, limit int) (found []task.Moment, err error) {
	for row, err := range c.Rows(qMoments, after+1, limit) {
		if err != nil {
			return nil, err
		}
		seq := row.Int()
		r := varint.Reader{Left: row.Blob()}
		for ; len(r.Left) > 0 && len(found) < limit; seq++ {
			m := sqlstore.DecodeMoment(&r)
			if m.Seq = seq; r.Bad {
				return nil, fmt.Errorf("%w: moment %d", t.Damaged, seq)
			}
			if seq > after {
				found = append(found, m)
			}
		}
		if len(found) == limit {
			break
		}
	}
	return found, nil
}

// addHeads reads the heads of the tasks of moments.
func (t Tasks) addHeads(c Conn, all []task.Moment) error {
	heads := make(map[task.Key]task.Head)
	var keys []int64
	for i := range all {
		key := all[i].Key
		if _, twice := heads[key]; key != 0 && !twice {
			heads[key] = task.Head{}
			keys = append(keys, int64(key))
		}
	}
	found, err := t.DB.Heads(c, keys)
	if err != nil {
		return err
	}
	for i := range found {
		heads[found[i].Key] = found[i]
	}
	for i := range all {
		all[i].Head = heads[all[i].Key]
	}
	return nil
}
