package sqlitestore

import (
	"fmt"
	"math"

	"github.com/parley-a2a/parley/internal/store/sqlstore"
	"github.com/parley-a2a/parley/internal/task"
	"github.com/parley-a2a/parley/internal/varint"
)

var (
	qTimelineRows  = prepared("SELECT seq, n, data FROM timeline WHERE seq > ? ORDER BY seq")
	qSetMoments    = prepared("UPDATE timeline SET data = ? WHERE seq = ?")
	qDropMoments   = prepared("DELETE FROM timeline WHERE seq = ?")
	qTaskVersionOf = prepared("SELECT version FROM tasks WHERE key = ?")
)

// noTask stands for a change that is lost. No task has this key, as after a deletion.
const noTask = task.Key(math.MaxInt64)

// mendTimeline removes the versions that no task has any more, and adds the ends of the tasks that
// were cut. It returns a key above all that were given out.
func (r *Salvaged) mendTimeline(w *writer) (next int64, err error) {
	versions := make(map[task.Key]int64)
	for _, m := range r.ends {
		versions[m.Key] = m.First - 1 // the entry of this version was another one
	}
	changed := make(map[int64][]byte)
	s := w.conn.start(qTimelineRows)
	s.int(-1)
	for s.next() {
		seq, n, row := s.Int(), s.Int(), varint.Reader{Left: s.Blob()}
		var again sqlstore.Moments
		for len(row.Left) > 0 && !row.Bad {
			m := sqlstore.DecodeMoment(&row)
			if m.Key != 0 {
				next = max(next, int64(m.Key)+1)
				if m.First, m.Last, err = w.kept(versions, &m); err != nil {
					return 0, err
				}
			}
			if m.Key == 0 {
				again.AddNotice(m.Notice)
			} else {
				again.AddChange(m.Key, m.First, m.Last)
			}
		}
		if row.Bad || again.N != n {
			again.Data = nil
		}
		changed[seq] = again.Data
	}
	if s.err != nil {
		return 0, fmt.Errorf("read the timeline: %w", s.err)
	}
	for seq, data := range changed {
		s := w.conn.start(qDropMoments)
		if data != nil {
			s = w.conn.start(qSetMoments)
			s.blob(data)
		}
		s.int(seq)
		if err := s.done(); err != nil {
			return 0, fmt.Errorf("mend the timeline: %w", err)
		}
	}
	for _, m := range r.ends {
		w.moments.AddChange(m.Key, m.First, m.Last)
	}
	return next, nil
}

// kept returns the versions of a moment that its task still has. Without any, it has no task.
func (w *writer) kept(versions map[task.Key]int64, m *task.Moment) (first, last int64, err error) {
	v, known := versions[m.Key]
	if !known {
		s := w.conn.start(qTaskVersionOf)
		s.int(int64(m.Key))
		if s.next() {
			v = s.Int()
			s.close()
		}
		if s.err != nil {
			return 0, 0, s.err
		}
		versions[m.Key] = v
	}
	if v < m.First {
		m.Key = noTask
		return m.First, m.Last, nil
	}
	return m.First, min(m.Last, v), nil
}
